package bundle

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Item is one file of a bundle, clean already, or why it is not in it.
type Item struct {
	Name string
	// What says what it is, for people.
	What string
	Data []byte
	// Missing is why there is none; empty when there is one.
	Missing string
}

// Contents are the items as a table for people, also of what is missing.
func Contents(items []Item) string {
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, i := range items {
		size := fmt.Sprintf("%d bytes", len(i.Data))
		if i.Missing != "" {
			size = "not there"
		}
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\n", i.Name, size, i.What) // a strings.Builder never fails
		if i.Missing != "" {
			_, _ = fmt.Fprintf(tw, "\t\t%s\n", i.Missing)
		}
	}
	_ = tw.Flush()
	return b.String()
}

// Write writes the items, with a table of them first, as a compressed archive below one folder.
func Write(w io.Writer, folder string, items []Item, at time.Time) (err error) {
	gz := gzip.NewWriter(w)
	tw := tar.NewWriter(gz)
	defer func() { err = errors.Join(err, tw.Close(), gz.Close()) }()
	all := append([]Item{{Name: "CONTENTS.txt", Data: []byte(Contents(items))}}, items...)
	for _, i := range all {
		if i.Missing != "" {
			continue
		}
		err := tw.WriteHeader(&tar.Header{
			Name: folder + "/" + i.Name, Mode: 0o600, Size: int64(len(i.Data)), ModTime: at, Typeflag: tar.TypeReg,
		})
		if err != nil {
			return fmt.Errorf("pack %s: %w", i.Name, err)
		}
		if _, err := tw.Write(i.Data); err != nil {
			return fmt.Errorf("pack %s: %w", i.Name, err)
		}
	}
	return nil
}
