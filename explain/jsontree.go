package explain

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// object is a JSON object with its members in order. Servers repeat names
// inside one object (MariaDB prints several "table" members), which a map loses.
type object struct {
	names  []string
	values []any // nil, bool, string, json.Number, object, []any
}

func (o object) get(name string) any {
	for i, n := range o.names {
		if n == name {
			return o.values[i]
		}
	}
	return nil
}

func (o object) has(name string) bool {
	for _, n := range o.names {
		if n == name {
			return true
		}
	}
	return false
}

func (o object) object(name string) (object, bool) {
	v, ok := o.get(name).(object)
	return v, ok
}

func (o object) array(name string) []any {
	v, _ := o.get(name).([]any)
	return v
}

// text returns a string, or a number as it was printed.
func (o object) text(name string) string {
	switch v := o.get(name).(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// number reads a number, which servers also print as a string.
func (o object) number(name string) Number { return parseNumber(o.text(name)) }

// flag reads true, 1 and "1".
func (o object) flag(name string) bool {
	if b, ok := o.get(name).(bool); ok {
		return b
	}
	return o.number(name).Or(0) != 0
}

// strings reads a list of strings, or a single one.
func (o object) strings(name string) []string {
	switch v := o.get(name).(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, x := range v {
			if s, ok := x.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

var errDepth = errors.New("nested too deeply")

// decodeJSON reads one object; what follows it must be white space.
func decodeJSON(text string) (object, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	v, err := decodeValue(d, 0)
	if err != nil {
		return object{}, err
	}
	o, ok := v.(object)
	if !ok {
		return object{}, errors.New("not an object")
	}
	if strings.TrimSpace(text[d.InputOffset():]) != "" {
		return object{}, errors.New("text after the end")
	}
	return o, nil
}

func decodeValue(d *json.Decoder, depth int) (any, error) {
	if depth > maxPlanDepth {
		return nil, errDepth
	}
	t, err := d.Token()
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		var o object
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := decodeValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			o.names = append(o.names, name.(string))
			o.values = append(o.values, v)
		}
		_, err = d.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := decodeValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	return t, nil
}
