package main

import (
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// errHelp says that the help of a command was printed.
var errHelp = errors.New("help")

// parse reads the flags of a command and refuses arguments beyond the named ones.
func parse(fs *flag.FlagSet, args []string, t terminal, names ...string) ([]string, error) {
	fs.SetOutput(t.out)
	fs.Usage = func() {
		say(t.out, "Usage: vllm-medic %s [flags] %s\n\n", fs.Name(), strings.Join(names, " "))
		fs.PrintDefaults()
	}
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, errHelp
		}
		return nil, usageError{err.Error()}
	}
	if fs.NArg() != len(names) {
		return nil, usageError{fmt.Sprintf("%s takes %s; got %d arguments", fs.Name(), describe(names), fs.NArg())}
	}
	return fs.Args(), nil
}

func describe(names []string) string {
	if len(names) == 0 {
		return "no arguments beside its flags"
	}
	return strings.Join(names, " ")
}

// load reads the configuration and the playbooks that it names.
func load(path string, opts config.Options, t terminal) (config.Config, *playbooks.Catalog, error) {
	if path == "" {
		return config.Config{}, nil, usageError{"--config FILE is needed"}
	}
	files, err := catalog.Files()
	if err != nil {
		return config.Config{}, nil, err
	}
	builtin, err := playbooks.Load(files, playbooks.Options{})
	if err != nil {
		return config.Config{}, nil, err
	}
	opts.Getenv, opts.Profile = t.getenv, builtin.Profile
	cfg, err := config.Load(path, opts)
	if err != nil {
		return config.Config{}, nil, err
	}
	more, err := config.PlaybookFiles(cfg.Playbooks.Dirs)
	if err != nil {
		return config.Config{}, nil, err
	}
	all := files
	for _, f := range more {
		all = append(all, playbooks.File{Name: f.Name, Data: f.Data})
	}
	cat, err := playbooks.Load(all, playbooks.Options{Window: cfg.Playbooks.Window, MaxWarmUp: cfg.Playbooks.MaxWarmUp})
	return cfg, cat, err
}
