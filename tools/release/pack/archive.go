package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file of an archive or of the image, or a folder when content is empty and dir is set.
type entry struct {
	name    string
	dir     bool
	mode    int64
	user    int
	content func() (io.ReadCloser, int64, error)
}

// fileEntry is an entry with the content of a file.
func fileEntry(name, path string, mode int64) entry {
	return entry{name: name, mode: mode, content: func() (io.ReadCloser, int64, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, 0, err
		}
		info, err := f.Stat()
		if err != nil {
			return nil, 0, errors.Join(err, f.Close())
		}
		return f, info.Size(), nil
	}}
}

// textEntry is an entry with a text.
func textEntry(name, text string) entry {
	return entry{name: name, mode: 0o644, content: func() (io.ReadCloser, int64, error) {
		return io.NopCloser(strings.NewReader(text)), int64(len(text)), nil
	}}
}

// writeTar writes entries as they are given. Nothing in it depends on the machine or on the time.
func writeTar(w io.Writer, at time.Time, entries []entry) error {
	t := tar.NewWriter(w)
	for _, e := range entries {
		if err := writeEntry(t, at, e); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return t.Close()
}

func writeEntry(t *tar.Writer, at time.Time, e entry) error {
	h := &tar.Header{
		Name: e.name, Mode: e.mode, Uid: e.user, Gid: e.user, ModTime: at, Format: tar.FormatPAX, Typeflag: tar.TypeReg,
	}
	if e.dir {
		h.Typeflag, h.Name = tar.TypeDir, e.name+"/"
		return t.WriteHeader(h)
	}
	content, size, err := e.content()
	if err != nil {
		return err
	}
	h.Size = size
	err = t.WriteHeader(h)
	if err == nil {
		_, err = io.Copy(t, content)
	}
	return errors.Join(err, content.Close())
}

// archive is what people download: the program with the licenses and what has changed.
func (r release) archive(out string, b build, arch string) error {
	name := "vllm-medic_" + r.version + "_linux_" + arch
	f, err := os.Create(filepath.Join(out, name+".tar.gz"))
	if err != nil {
		return err
	}
	z := gzip.NewWriter(f)
	err = writeTar(z, r.date, []entry{
		{name: name, dir: true, mode: 0o755},
		fileEntry(name+"/CHANGELOG.md", b.source("CHANGELOG.md"), 0o644),
		fileEntry(name+"/THIRD_PARTY_LICENSES", b.source("THIRD_PARTY_LICENSES"), 0o644),
		fileEntry(name+"/vllm-medic", b.programs[arch], 0o755),
	})
	return errors.Join(err, z.Close(), f.Close())
}

// checksums is the name of the file that sha256sum --check reads.
const checksums = "SHA256SUMS"

// sum writes the checksums of all files of the release.
func sum(out string) error {
	var lines []string
	err := filepath.WalkDir(out, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		hash, err := digest(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(out, path)
		lines = append(lines, hash+"  "+filepath.ToSlash(name)+"\n")
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[66:], b[66:]) })
	return os.WriteFile(filepath.Join(out, checksums), []byte(strings.Join(lines, "")), 0o644)
}
