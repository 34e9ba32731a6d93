package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// bundlePath is where Go and others look for the certificates of authorities.
const bundlePath = "etc/ssl/certs/ca-certificates.crt"

// image writes the image of all platforms as an OCI layout, reads it back and tries it. Both builds have to make the
// same image.
func (r release) image(folder string, one, two build) error {
	first, err := r.index(one)
	if err != nil {
		return err
	}
	second, err := r.index(two)
	if err != nil {
		return err
	}
	a, err := first.Digest()
	if err != nil {
		return err
	}
	b, err := second.Digest()
	if err != nil {
		return err
	}
	if a != b {
		return fmt.Errorf("the images of two builds of one commit differ: %s and %s", a, b)
	}
	written, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	if err := written.AppendIndex(first, layout.WithAnnotations(map[string]string{refName: r.version})); err != nil {
		return err
	}
	if err := r.tryImage(folder, one); err != nil {
		return fmt.Errorf("the image: %w", err)
	}
	fmt.Printf("image %s\n", a)
	return os.WriteFile(folder+".digest", []byte(a.String()+"\n"), 0o644)
}

// refName is the annotation that tools take for the tag of an image in a layout.
const refName = "org.opencontainers.image.ref.name"

// index is the image of every platform.
func (r release) index(b build) (v1.ImageIndex, error) {
	d, err := readDockerfile(b.source("Dockerfile"))
	if err != nil {
		return nil, err
	}
	idx := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range platforms {
		img, err := r.platform(d, b, arch)
		if err != nil {
			return nil, fmt.Errorf("the image for linux/%s: %w", arch, err)
		}
		idx = mutate.AppendManifests(idx, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: "linux", Architecture: arch},
		}})
	}
	return mutate.Annotations(idx, r.labels()).(v1.ImageIndex), nil
}

func (r release) labels() map[string]string {
	const of = "org.opencontainers.image."
	return map[string]string{
		of + "title": "vllm-medic", of + "version": r.version, of + "revision": r.commit,
		of + "created":     r.date.Format(time.RFC3339),
		of + "source":      "https://github.com/vllm-medic/vllm-medic",
		of + "description": "Turns alerts on vLLM into diagnoses and approved, verified changes",
	}
}

func (r release) platform(d dockerfile, b build, arch string) (v1.Image, error) {
	base, err := r.layer(baseEntries())
	if err != nil {
		return nil, err
	}
	entries, err := shippedEntries(d, b, arch)
	if err != nil {
		return nil, err
	}
	own, err := r.layer(entries)
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	by := func(what string) v1.History { return v1.History{Created: v1.Time{Time: r.date}, CreatedBy: what} }
	img, err = mutate.Append(img, mutate.Addendum{Layer: base, History: by("certificates, users, /tmp")},
		mutate.Addendum{Layer: own, History: by("Dockerfile")})
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created, file.Config = "linux", arch, v1.Time{Time: r.date}, *d.config.DeepCopy()
	file.Config.Labels = r.labels()
	file.Config.WorkingDir = "/"
	file.Config.Env = append([]string{"PATH=/", "SSL_CERT_FILE=/" + bundlePath}, file.Config.Env...)
	return mutate.ConfigFile(img, file)
}

func (r release) layer(entries []entry) (v1.Layer, error) {
	var b bytes.Buffer
	if err := writeTar(&b, r.date, entries); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// baseEntries stand for the image that the Dockerfile begins with, which this program cannot fetch: the certificates of
// authorities as Go pins them, the users, and a place for temporary files.
func baseEntries() []entry {
	return []entry{
		{name: "etc", dir: true, mode: 0o755},
		textEntry("etc/group", "root:x:0:\nnobody:x:65534:\nnonroot:x:65532:\n"),
		textEntry("etc/passwd", "root:x:0:0:root:/root:/sbin/nologin\n"+
			"nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n"+
			"nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n"),
		{name: "etc/ssl", dir: true, mode: 0o755},
		{name: "etc/ssl/certs", dir: true, mode: 0o755},
		textEntry(bundlePath, authorities()),
		{name: "home", dir: true, mode: 0o755},
		{name: "home/nonroot", dir: true, mode: 0o700, user: 65532},
		{name: "tmp", dir: true, mode: 0o1777},
	}
}

// authorities are those that Mozilla trusts without conditions: a file of certificates cannot hold conditions.
func authorities() string {
	var b strings.Builder
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a strings.Builder takes everything
		}
	}
	return b.String()
}

// shippedEntries are the files that the Dockerfile copies into the image, with the folders around them.
func shippedEntries(d dockerfile, b build, arch string) ([]entry, error) {
	var out []entry
	made := map[string]bool{}
	for _, c := range d.copies {
		user := 0
		if c.user != "" {
			id, _, _ := strings.Cut(c.user, ":")
			var err error
			if user, err = strconv.Atoi(id); err != nil || c.user != id+":"+id {
				return nil, fmt.Errorf("%s: --chown=%s is not one number for the user and the group", c.to, c.user)
			}
		}
		name := strings.TrimPrefix(path.Clean(c.to), "/")
		for _, dir := range around(name) {
			if !made[dir] {
				out, made[dir] = append(out, entry{name: dir, dir: true, mode: 0o755}), true
			}
		}
		source := b.source(c.from)
		if rest, ok := strings.CutPrefix(c.from, "out/"); ok {
			source = b.made(arch, rest)
		}
		e, err := entryOf(name, source)
		if err != nil {
			return nil, err
		}
		e.user = user
		out = append(out, e)
	}
	return out, nil
}

// around are the folders that a path is in, the outermost first.
func around(name string) []string {
	var out []string
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		out = append([]string{dir}, out...)
	}
	return out
}

func entryOf(name, source string) (entry, error) {
	info, err := os.Stat(source)
	if err != nil {
		return entry{}, err
	}
	if !info.IsDir() {
		// The bits that Docker would keep are those of whoever built; the image's do not depend on that.
		mode := int64(0o644)
		if info.Mode()&0o111 != 0 {
			mode = 0o755
		}
		return fileEntry(name, source, mode), nil
	}
	content, err := os.ReadDir(source)
	if err != nil {
		return entry{}, err
	}
	if len(content) > 0 {
		return entry{}, fmt.Errorf("%s: the release copies files and empty folders", source)
	}
	return entry{name: name, dir: true, mode: 0o755}, nil
}
