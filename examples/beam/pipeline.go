package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/fileio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/slowlog"
)

// Config says what profile to make of which logs.
type Config struct {
	Globs     []string // of the logs
	Output    string   // file for the profile's binary form
	ShardSize int64    // in bytes, about
	Group     string   // as digest.ParseGroups reads it, empty for fingerprint
	Redact    bool     // samples without literals
}

func init() {
	register.DoFn3x1[context.Context, fileio.FileMetadata, func(Shard), error](&splitFn{})
	register.Function2x3(surveyFn)
	register.DoFn4x1[context.Context, string, func(*Shard) bool, func(Shard), error](&resolveFn{})
	register.DoFn3x1[context.Context, Shard, func(string, *digest.Profile), error](&aggregateFn{})
	register.Function2x2(mergeFn)
	register.DoFn3x1[context.Context, int, func(**digest.Profile) bool, error](&writeFn{})
	register.Emitter1[Shard]()
	register.Emitter2[string, *digest.Profile]()
	register.Iter1[Shard]()
	register.Iter1[*digest.Profile]()

	beam.RegisterCoder(reflect.TypeFor[Shard](), encodeShard, decodeShard)
	beam.RegisterCoder(reflect.TypeFor[*digest.Profile](), encodeProfile, decodeProfile)
}

// build makes the pipeline:
//
//	globs ─ match ─ split ─► shards ─ survey ─ by log ─ resolve ─► shards ─ aggregate ─► classes ─ merge by ID ─► write
//
// Between the stages nothing is larger than a class: a shard's classes leave it
// one by one, in their binary form, and those of one ID are merged wherever they
// meet, in any order. The last stage alone holds a whole profile, once, to write
// it.
func build(s beam.Scope, c Config) {
	logs := fileio.MatchAll(s, beam.CreateList(s, c.Globs), fileio.MatchEmptyDisallow())
	shards := beam.Reshuffle(s, beam.ParDo(s, &splitFn{c.ShardSize}, logs))
	surveyed := beam.GroupByKey(s, beam.ParDo(s, surveyFn, shards))
	resolved := beam.Reshuffle(s, beam.ParDo(s, &resolveFn{}, surveyed))
	classes := beam.ParDo(s, &aggregateFn{Group: c.Group, Redact: c.Redact}, resolved)
	merged := beam.CombinePerKey(s, mergeFn, classes)
	all := beam.GroupByKey(s, beam.AddFixedKey(s, beam.DropKey(s, merged)))
	beam.ParDo0(s, &writeFn{c.Output}, all)
}

type splitFn struct{ Size int64 }

func (f *splitFn) ProcessElement(ctx context.Context, log fileio.FileMetadata, emit func(Shard)) error {
	shards, err := split(ctx, log.Path, log.Size, f.Size)
	for _, s := range shards {
		emit(s)
	}
	return err
}

func surveyFn(ctx context.Context, s Shard) (string, Shard, error) {
	s, err := survey(ctx, s)
	return s.Path, s, err
}

type resolveFn struct{}

func (*resolveFn) ProcessElement(ctx context.Context, _ string, next func(*Shard) bool, emit func(Shard)) error {
	var shards []Shard
	for s := (Shard{}); next(&s); s = (Shard{}) {
		shards = append(shards, s)
	}
	shards, err := resolve(ctx, shards)
	for _, s := range shards {
		emit(s)
	}
	return err
}

type aggregateFn struct {
	Group   string
	Redact  bool
	options digest.Options
}

func (f *aggregateFn) Setup() (err error) {
	f.options, err = options(f.Group, f.Redact)
	return err
}

func options(group string, redact bool) (o digest.Options, err error) {
	if group != "" {
		o.GroupBy, err = digest.ParseGroups(group)
	}
	if redact {
		o.Text = digest.TextRedacted
	}
	return o, err
}

func (f *aggregateFn) ProcessElement(ctx context.Context, s Shard, emit func(string, *digest.Profile)) error {
	p, err := aggregate(ctx, s, f.options)
	if err != nil {
		return err
	}
	for id, part := range p.Parts() {
		emit(id.String(), part)
	}
	return nil
}

// aggregate returns the profile of a shard.
func aggregate(ctx context.Context, s Shard, o digest.Options) (*digest.Profile, error) {
	a := digest.Aggregator{Options: o}
	to, stats, err := read(ctx, s, func(ev *slowlog.Event) { a.Add(ev) })
	if err == nil {
		err = s.check(to)
	}
	if err != nil {
		return nil, err
	}
	a.AddSkipped(uint64(stats.Skipped()))
	return a.Profile(), nil
}

func mergeFn(a, b *digest.Profile) (*digest.Profile, error) { return digest.Merge(a, b) }

type writeFn struct{ Output string }

func (f *writeFn) ProcessElement(ctx context.Context, _ int, next func(**digest.Profile) bool) (err error) {
	var parts []*digest.Profile
	for p := (*digest.Profile)(nil); next(&p); {
		parts = append(parts, p)
	}
	whole, err := digest.Merge(parts...)
	if err != nil {
		return err
	}
	if whole.Events == 0 {
		return fmt.Errorf("the logs hold no event; %d damaged records were skipped", whole.Skipped)
	}
	data, err := whole.MarshalBinary()
	if err != nil {
		return err
	}
	fs, err := filesystem.New(ctx, f.Output)
	if err != nil {
		return err
	}
	defer fs.Close()
	out, err := fs.OpenWrite(ctx, f.Output)
	if err != nil {
		return err
	}
	if _, err := out.Write(data); err != nil {
		out.Close()
		return fmt.Errorf("%s: %w", f.Output, err)
	}
	return out.Close()
}

func encodeShard(s Shard) ([]byte, error) { return json.Marshal(s) }

func decodeShard(data []byte) (s Shard, err error) {
	err = json.Unmarshal(data, &s)
	return s, err
}

func encodeProfile(p *digest.Profile) ([]byte, error) { return p.MarshalBinary() }

func decodeProfile(data []byte) (*digest.Profile, error) {
	p := new(digest.Profile)
	return p, p.UnmarshalBinary(data)
}
