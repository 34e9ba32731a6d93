// Command pack makes what a release consists of: the program for each platform, archives with the licenses, SBOMs, an
// image of several platforms as an OCI layout, and checksums.
//
// It takes the commit that is checked out and nothing that is not committed, builds it twice in two folders, and makes
// nothing unless both builds are the same to the byte. How the program is built and what the image holds is read from
// the Dockerfile, so that there is one place that says it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

func main() {
	root := flag.String("root", "../../..", "top of the tree")
	out := flag.String("out", "../../../dist", "folder that the release is written to; what it held before is removed")
	fresh := flag.Bool("fresh", false,
		"build a second time with an empty cache: everything is compiled twice, which takes minutes")
	flag.Parse()
	if err := run(*root, *out, *fresh); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// platforms are those that are released, all of them Linux.
var platforms = []string{"amd64", "arm64"}

func run(root, out string, fresh bool) (err error) {
	begin := time.Now()
	if root, err = filepath.Abs(root); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "vllm-medic-release-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeAll(scratch)) }()

	r, err := identify(root)
	if err != nil {
		return err
	}
	fmt.Printf("%s is commit %s of %s\n", r.version, r.commit, r.date.Format(time.DateOnly))
	one, err := r.build(filepath.Join(scratch, "a"), "")
	if err != nil {
		return err
	}
	cache := ""
	if fresh {
		cache = filepath.Join(scratch, "cache")
	}
	two, err := r.build(filepath.Join(scratch, "another", "folder", "with", "a", "longer", "name"), cache)
	if err != nil {
		return err
	}
	for _, arch := range platforms {
		if err := same(one.programs[arch], two.programs[arch]); err != nil {
			return fmt.Errorf("linux/%s: %w", arch, err)
		}
		if err := r.inspect(one.programs[arch], arch); err != nil {
			return fmt.Errorf("linux/%s: %w", arch, err)
		}
	}
	fmt.Printf("two builds in two folders are the same (%s)\n", time.Since(begin).Round(time.Second))
	if out, err = emptied(out); err != nil {
		return err
	}
	if err := r.write(out, one, two); err != nil {
		return err
	}
	fmt.Printf("%s holds the release (%s)\n", out, time.Since(begin).Round(time.Second))
	return nil
}

// emptied makes the folder anew. It refuses one that holds what a release does not.
func emptied(out string) (string, error) {
	out, err := filepath.Abs(out)
	if err != nil {
		return "", err
	}
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(out, checksums)); err != nil {
			return "", fmt.Errorf("%s holds files and no release; name another folder with -out", out)
		}
	}
	return out, errors.Join(os.RemoveAll(out), os.MkdirAll(out, 0o755))
}

// removeAll removes a folder with what Go's caches keep read-only.
func removeAll(folder string) error {
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700) //nolint:gosec // nobody else writes to this folder
		}
		return err
	})
	return errors.Join(err, os.RemoveAll(folder))
}

// write makes the files of the release out of two equal builds.
func (r release) write(out string, one, two build) error {
	for _, arch := range platforms {
		if err := r.archive(out, one, arch); err != nil {
			return err
		}
		if err := r.sbom(out, one.programs[arch], arch); err != nil {
			return err
		}
	}
	if err := r.image(filepath.Join(out, "image"), one, two); err != nil {
		return err
	}
	return sum(out)
}
