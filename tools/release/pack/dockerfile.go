package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// dockerfile is what the Dockerfile says, as far as a release needs it.
type dockerfile struct {
	// builds are the commands that make the program in the folder of the tree. One that only loads modules is left out.
	builds []string
	// copies are what the image holds beside its base.
	copies []copied
	config v1.Config
}

// copied is a path of the tree, or of what was built in it, in the image. Root owns it when user is empty.
type copied struct{ from, to, user string }

// readDockerfile refuses what it does not know: the image would not be the one that the Dockerfile makes.
func readDockerfile(name string) (dockerfile, error) {
	f, err := os.Open(name)
	if err != nil {
		return dockerfile{}, err
	}
	parsed, err := parser.Parse(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return dockerfile{}, fmt.Errorf("%s: %w", name, err)
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		return dockerfile{}, fmt.Errorf("%s: %w", name, err)
	}
	if len(stages) != 2 {
		return dockerfile{}, fmt.Errorf("%s has %d stages, want one that builds and one that is shipped", name, len(stages))
	}
	var d dockerfile
	work := ""
	for _, c := range stages[0].Commands {
		switch c := c.(type) {
		case *instructions.WorkdirCommand:
			work = c.Path
		case *instructions.RunCommand:
			line := strings.Join(c.CmdLine, " ")
			if line != "go mod download" {
				d.builds = append(d.builds, line)
			}
		case *instructions.CopyCommand, *instructions.ArgCommand:
		default:
			return dockerfile{}, fmt.Errorf("%s: the release cannot carry out %s while it builds", name, c.Name())
		}
	}
	for _, c := range stages[1].Commands {
		if err := d.ship(c, stages[0].Name, work); err != nil {
			return dockerfile{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	return d, nil
}

func (d *dockerfile) ship(c instructions.Command, from, work string) error {
	switch c := c.(type) {
	case *instructions.CopyCommand:
		if c.From != from || len(c.SourcePaths) != 1 || c.Chmod != "" || strings.HasSuffix(c.DestPath, "/") {
			return fmt.Errorf("%s: the release only copies one path of the build to another", c)
		}
		source, ok := strings.CutPrefix(c.SourcePaths[0], work+"/")
		if !ok {
			return fmt.Errorf("%s: the path is not in %s", c, work)
		}
		d.copies = append(d.copies, copied{from: source, to: c.DestPath, user: c.Chown})
	case *instructions.EnvCommand:
		for _, e := range c.Env {
			d.config.Env = append(d.config.Env, e.Key+"="+e.Value)
		}
	case *instructions.VolumeCommand:
		d.config.Volumes = map[string]struct{}{}
		for _, v := range c.Volumes {
			d.config.Volumes[path.Clean(v)] = struct{}{}
		}
	case *instructions.ExposeCommand:
		d.config.ExposedPorts = map[string]struct{}{}
		for _, p := range c.Ports {
			d.config.ExposedPorts[p+"/tcp"] = struct{}{}
		}
	case *instructions.UserCommand:
		d.config.User = c.User
	case *instructions.EntrypointCommand:
		d.config.Entrypoint = c.CmdLine
	case *instructions.CmdCommand:
		d.config.Cmd = c.CmdLine
	default:
		return fmt.Errorf("the release cannot carry out %s", c.Name())
	}
	return nil
}
