package sources

import "flag"

// ParseFlags parses a command line whose flags may also follow the names of files,
// and returns the names.
func ParseFlags(fs *flag.FlagSet, args []string) (names []string, err error) {
	for {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		if fs.NArg() == 0 {
			return names, nil
		}
		names, args = append(names, fs.Arg(0)), fs.Args()[1:]
	}
}
