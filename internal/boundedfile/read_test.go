package boundedfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOnlyRegularFilesAreReadAndOnlySoFar(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for name, err := range map[string]error{
		"file":  os.WriteFile(in("file"), []byte(strings.Repeat("x", 10)), 0o600),
		"link":  os.Symlink("file", in("link")),
		"zero":  os.Symlink("/dev/zero", in("zero")),
		"pipe":  syscall.Mkfifo(in("pipe"), 0o600), // nobody writes to it: whoever opens it waits
		"round": os.Symlink("round", in("round")),
	} {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for _, tt := range []struct {
		name  string
		limit int64
		want  error
	}{
		{"file", 10, nil},
		{"link", 10, nil},
		{"file", 9, ErrTooLarge},
		{"zero", 10, ErrNotRegular},
		{"pipe", 10, ErrNotRegular},
		{".", 10, ErrNotRegular},
		{"round", 10, syscall.ELOOP},
		{"missing", 10, fs.ErrNotExist},
	} {
		data, err := ReadRegular(in(tt.name), tt.limit)
		if !errors.Is(err, tt.want) || tt.want == nil && (err != nil || len(data) != 10) {
			t.Errorf("%s of at most %d bytes: %d bytes, %v; want %v", tt.name, tt.limit, len(data), err, tt.want)
		}
		if p, ok := errors.AsType[*fs.PathError](err); err != nil && (!ok || p.Path != in(tt.name)) {
			t.Errorf("%s: %v doesn't name the file", tt.name, err)
		}
	}
	if data, err := Read(in("zero"), 1<<10); !errors.Is(err, ErrTooLarge) || data != nil {
		t.Errorf("what has no end is read to %d bytes: %v", len(data), err)
	}
}
