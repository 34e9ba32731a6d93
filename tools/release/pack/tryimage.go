package main

import (
	"archive/tar"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// tryImage reads the layout as a registry or an engine would, unpacks this machine's platform and runs the program of
// it, as its user and with nothing else around it where that is allowed.
func (r release) tryImage(folder string, b build) error {
	idx, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return err
	}
	if err := validate.Index(idx); err != nil {
		return err
	}
	outer, err := idx.IndexManifest()
	if err != nil {
		return err
	}
	if len(outer.Manifests) != 1 {
		return fmt.Errorf("the layout holds %d images, want one of several platforms", len(outer.Manifests))
	}
	if idx, err = idx.ImageIndex(outer.Manifests[0].Digest); err != nil {
		return err
	}
	inner, err := idx.IndexManifest()
	if err != nil {
		return err
	}
	if len(inner.Manifests) != len(platforms) {
		return fmt.Errorf("the image has %d platforms, want %d", len(inner.Manifests), len(platforms))
	}
	for _, m := range inner.Manifests {
		img, err := idx.Image(m.Digest)
		if err != nil {
			return err
		}
		if err := r.tryPlatform(img, b, m.Platform.Architecture); err != nil {
			return fmt.Errorf("linux/%s: %w", m.Platform.Architecture, err)
		}
	}
	return nil
}

func (r release) tryPlatform(img v1.Image, b build, arch string) error {
	root, err := os.MkdirTemp(filepath.Dir(b.folder), "image-")
	if err != nil {
		return err
	}
	if err := unpack(img, root); err != nil {
		return err
	}
	if err := same(filepath.Join(root, "vllm-medic"), b.programs[arch]); err != nil {
		return err
	}
	pemText, err := os.ReadFile(filepath.Join(root, bundlePath))
	if err != nil {
		return err
	}
	if pool := x509.NewCertPool(); !pool.AppendCertsFromPEM(pemText) {
		return errors.New("it holds no certificate of an authority")
	}
	if arch != runtime.GOARCH {
		return nil
	}
	file, err := img.ConfigFile()
	if err != nil {
		return err
	}
	cmd := exec.Command(filepath.Join(root, file.Config.Entrypoint[0]), "version")
	if os.Geteuid() == 0 {
		id, _, _ := strings.Cut(file.Config.User, ":")
		n, err := strconv.ParseUint(id, 10, 32)
		if err != nil || n == 0 {
			return fmt.Errorf("its user is %q, want a number that is not root's", file.Config.User)
		}
		cmd = exec.Command(file.Config.Entrypoint[0], "version")
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: uint32(n), Gid: uint32(n)}}
	}
	return r.says(cmd)
}

// unpack writes what a container would see, and refuses paths that lead out of it.
func unpack(img v1.Image, root string) error {
	if err := os.Chmod(root, 0o755); err != nil {
		return err
	}
	content := mutate.Extract(img)
	defer func() { _ = content.Close() }()
	for t := tar.NewReader(content); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !filepath.IsLocal(h.Name) {
			return fmt.Errorf("%s is outside of the image", h.Name)
		}
		to := filepath.Join(root, h.Name) //nolint:gosec // it is local
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(to, h.FileInfo().Mode().Perm())
		} else {
			err = write(to, t, h.FileInfo().Mode().Perm())
		}
		if err != nil {
			return err
		}
	}
}

func write(to string, content io.Reader, mode os.FileMode) error {
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
