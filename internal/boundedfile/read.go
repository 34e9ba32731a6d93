// Package boundedfile reads files that a configuration names, without trusting what the names lead to: a link to a
// device has no end, a pipe may never have one, and a file can be of any size. Each reader says how much it takes.
package boundedfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// MaxSecret bounds a secret, a certificate or a bundle of authorities, in bytes. The bundles of operating systems
// have a quarter of that.
const MaxSecret = 1 << 20

// ErrNotRegular says that a name leads to a folder, a device, a pipe or a socket.
var ErrNotRegular = errors.New("not a regular file")

// ErrTooLarge says that a file has more bytes than are read of it.
var ErrTooLarge = errors.New("too large")

// ReadRegular reads a regular file, through links, of at most limit bytes. What isn't one isn't opened. The error is an
// *fs.PathError, like those of os.ReadFile.
func ReadRegular(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, &fs.PathError{Op: "read", Path: path, Err: ErrNotRegular}
	}
	return Read(path, limit)
}

// Read reads at most limit bytes of whatever the name leads to, and fails when there are more. It is for what somebody
// names on a command line, where a pipe is welcome.
func Read(path string, limit int64) (data []byte, err error) {
	f, err := os.Open(path) //nolint:gosec // the path is the operator's own
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err = io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) > limit:
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)}
	}
	return data, nil
}
