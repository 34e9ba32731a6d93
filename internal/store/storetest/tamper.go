package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// Tamper runs statements in the database of a URL as somebody who may do everything there: what guards the journal is
// taken away first. An UPDATE or DELETE that changes nothing is an error.
func Tamper(ctx context.Context, rawURL string, statements ...string) error {
	driver, name := "sqlite", strings.TrimPrefix(rawURL, "sqlite://")
	guards := []string{
		"DROP TRIGGER IF EXISTS journal_no_update", "DROP TRIGGER IF EXISTS journal_no_delete",
		"DROP TRIGGER IF EXISTS chains_no_delete", "DROP TRIGGER IF EXISTS chains_only_grow",
	}
	if strings.HasPrefix(rawURL, "postgres") {
		driver, name = "pgx", rawURL
		guards = []string{"ALTER TABLE journal DISABLE TRIGGER ALL", "ALTER TABLE chains DISABLE TRIGGER ALL"}
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		return err
	}
	return errors.Join(tamper(ctx, db, guards, statements), db.Close())
}

func tamper(ctx context.Context, db *sql.DB, guards, statements []string) error {
	for _, q := range guards {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	for _, q := range statements {
		res, err := db.ExecContext(ctx, q)
		if err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(fmt.Errorf("%s changed %d rows", q, n), err)
		}
	}
	return nil
}
