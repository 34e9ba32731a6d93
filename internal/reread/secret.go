package reread

import (
	"bytes"
	"fmt"
	"strings"
)

// SecretFile reads a secret, and adds it to the Set. parse makes the value of it, or says what is wrong with it without
// repeating it; spaces around it and an end of line are not part of it. An empty file is refused.
func SecretFile(
	set *Set, setting, path string, parse func(secret string) (string, error),
) (*Source[string], error) {
	s, err := New(Files(path), func(files []Content) (string, error) {
		if err := notEmpty(files); err != nil {
			return "", err
		}
		return parse(strings.TrimSpace(string(files[0].Data)))
	})
	if err != nil {
		return nil, err
	}
	Add(set, setting, s)
	return s, nil
}

// notEmpty names the first file that holds nothing, such as one that is being written.
func notEmpty(files []Content) error {
	for _, f := range files {
		if len(bytes.TrimSpace(f.Data)) == 0 {
			return fmt.Errorf("%s is empty", f.Name)
		}
	}
	return nil
}
