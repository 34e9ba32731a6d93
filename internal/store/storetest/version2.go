package storetest

import (
	"bytes"
	"database/sql"
	_ "embed"
	"encoding/json"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
)

// version2 is what the engine of commit b1fee15, the last one with version 2 of the schema, left in its store: a pool
// (llama) whose step has been written and settles, one (qwen) that is paused while it waits for a decision, one
// (mistral) whose incident is closed; messages behind and never posted; clicks; and deliveries that are done, dead, put
// off, claimed by a process that is gone, and new.
//
//go:embed version2.json
var version2 []byte

// Version2At is the time at which the store of FillVersion2 was left.
var Version2At = time.Date(2026, 3, 1, 3, 20, 15, 0, time.UTC)

// FillVersion2 gives an empty database the schema of version 2 and what was in such a store. migrations are those of
// its engine.
func FillVersion2(t testing.TB, rawURL string, migrations fs.FS) {
	t.Helper()
	fail := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	driver, dsn, dialect := "pgx", rawURL, goose.DialectPostgres
	path, lite := strings.CutPrefix(rawURL, "sqlite://")
	if lite {
		driver, dsn, dialect = "sqlite", "file:"+path, goose.DialectSQLite3
	}
	db, err := sql.Open(driver, dsn)
	fail(err)
	p, err := goose.NewProvider(dialect, db, migrations)
	fail(err)
	_, err = p.UpTo(t.Context(), 2)
	fail(err)
	var tables map[string][]map[string]any
	d := json.NewDecoder(bytes.NewReader(version2))
	d.UseNumber()
	fail(d.Decode(&tables))
	// as they refer to each other
	for _, table := range []string{
		"deliveries", "incidents", "journal", "writes", "locks", "pauses", "messages",
		"clicks",
	} {
		for _, row := range tables[table] {
			columns := slices.Sorted(maps.Keys(row))
			marks, args := make([]string, len(columns)), make([]any, len(columns))
			for n, c := range columns {
				marks[n], args[n] = "$"+strconv.Itoa(n+1), row[c]
				switch v := row[c].(type) {
				case json.Number:
					args[n], err = v.Int64()
					fail(err)
				case string:
					if c == "payload" {
						args[n] = []byte(v)
					}
				}
			}
			query := "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ")"
			if !lite && row["id"] != nil {
				query += " OVERRIDING SYSTEM VALUE"
			}
			_, err := db.ExecContext(t.Context(), query+" VALUES ("+strings.Join(marks, ", ")+")", args...)
			fail(err)
		}
	}
	if !lite {
		for _, table := range []string{"deliveries", "clicks"} {
			//nolint:gosec // the names of two tables of ours
			_, err := db.ExecContext(t.Context(),
				"SELECT setval(pg_get_serial_sequence('"+table+"', 'id'), (SELECT MAX(id) FROM "+table+"))")
			fail(err)
		}
	}
	fail(db.Close())
}
