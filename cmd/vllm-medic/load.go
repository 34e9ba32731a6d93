package main

import (
	"errors"
	"log/slog"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/drill"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// loaded is a configuration with the playbooks that it names.
type loaded struct {
	config.Config
	catalog *playbooks.Catalog
	builtin int
}

// options are for the commands that only read.
func (l loaded) options(t terminal) app.Options {
	return app.Options{
		Config: l.Config, Catalog: l.catalog, Logger: slog.New(slog.DiscardHandler),
		Kubeconfig: t.env("KUBECONFIG"),
	}
}

// load reads the configuration and the playbooks that it names. Errors in both come together, as configErrors.
func load(path string, opts config.Options, t terminal) (loaded, error) {
	if path == "" {
		return loaded{}, usageError{"--config FILE is required, or set VLLM_MEDIC_CONFIG"}
	}
	files, err := catalog.Files()
	if err != nil {
		return loaded{}, err
	}
	builtin, err := playbooks.Load(files, playbooks.Options{})
	if err != nil {
		return loaded{}, err
	}
	opts.Getenv, opts.Profiles, opts.Kubeconfig = t.getenv, builtin, app.CheckKubeconfig
	opts.Scenarios = (&drill.Recordings{}).Names()
	l := loaded{builtin: len(builtin.Playbooks())}
	var found configErrors
	if l.Config, err = config.Load(path, opts); err != nil {
		bad, ok := errors.AsType[strictyaml.Problems](err)
		if !ok {
			return loaded{}, err
		}
		found.add(bad)
	}
	more, err := config.PlaybookFiles(l.Playbooks.Dirs)
	if err != nil {
		found = append(found, configError{text: err.Error()})
	}
	for _, f := range more {
		files = append(files, playbooks.File{Name: f.Name, Data: f.Data})
	}
	if l.catalog,
		err = playbooks.Load(files,
		playbooks.Options{Window: l.Playbooks.Window, MaxWarmUp: l.Playbooks.MaxWarmUp}); err != nil {
		bad, ok := errors.AsType[strictyaml.Problems](err)
		if !ok {
			return loaded{}, err
		}
		found.add(bad)
	}
	if len(found) > 0 {
		return loaded{}, found
	}
	return l, nil
}
