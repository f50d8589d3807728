package main

import (
	"fmt"
	"os"
)

// checkOutputs says what is wrong with the files that -o and -save name: each is to
// be written by one of them, and none is a log that is read.
func (c *config) checkOutputs() error {
	outputs := []struct{ flag, name string }{{"-o", c.output}, {"-save", c.save}}
	for i, out := range outputs {
		if out.name == "" {
			continue
		}
		for _, other := range outputs[:i] {
			if sameFile(out.name, other.name) {
				return fmt.Errorf("%s and %s are both %s", other.flag, out.flag, out.name)
			}
		}
		if out.flag == "-o" && sameFile(out.name, c.diff) {
			return fmt.Errorf("-o is the file %s of -diff", out.name)
		}
		for _, in := range c.files {
			if sameFile(out.name, in) {
				return fmt.Errorf("%s is the log %s", out.flag, in)
			}
		}
	}
	return nil
}

// sameFile reports whether two names are of one file that writing to would change.
func sameFile(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	x, err := os.Stat(a)
	if err != nil {
		return a == b
	}
	y, err := os.Stat(b)
	return err == nil && x.Mode().IsRegular() && os.SameFile(x, y)
}

// replaceFile writes a file whole or, if that fails, leaves what was there.
func replaceFile(name string, write func(*os.File) error) (err error) {
	place := name
	info, err := os.Lstat(name)
	special := err == nil && !info.Mode().IsRegular() // a device, a pipe, a link
	if !special {
		place += ".tmp"
	}
	f, err := os.Create(place)
	if err != nil {
		return err
	}
	err = write(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if special {
		return err
	}
	if err == nil {
		err = os.Rename(place, name)
	}
	if err != nil {
		os.Remove(place)
	}
	return err
}
