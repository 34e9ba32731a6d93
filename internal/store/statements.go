package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// statements keeps statements prepared on SQLite's writer, which otherwise compiles each one anew: that took a third of
// the time of a commit. PostgreSQL's driver does it by itself. A statement that is met in a transaction is prepared
// after it, because the writer has one connection.
type statements struct {
	mu    sync.Mutex
	ready map[string]*sql.Stmt
	met   []string
}

// in returns the prepared statement for use in a transaction, or nil.
func (p *statements) in(ctx context.Context, tx *sql.Tx, query string) *sql.Stmt {
	p.mu.Lock()
	st, known := p.ready[query]
	if !known {
		if p.ready == nil {
			p.ready = map[string]*sql.Stmt{}
		}
		p.ready[query] = nil
		p.met = append(p.met, query)
	}
	p.mu.Unlock()
	if st == nil {
		return nil
	}
	return tx.StmtContext(ctx, st)
}

// prepare prepares what was met since. A statement that could not be prepared is met again: its own error says what is
// wrong with it.
func (p *statements) prepare(ctx context.Context, db *sql.DB) {
	p.mu.Lock()
	met := p.met
	p.met = nil
	p.mu.Unlock()
	for _, query := range met {
		st, err := db.PrepareContext(ctx, query)
		p.mu.Lock()
		switch {
		case err != nil:
			delete(p.ready, query)
		case p.ready == nil: // the store was closed meanwhile
			_ = st.Close() // its connection is closed, too
		default:
			p.ready[query] = st
		}
		p.mu.Unlock()
	}
}

func (p *statements) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, st := range p.ready {
		if st != nil {
			errs = append(errs, st.Close())
		}
	}
	p.ready = nil
	return errors.Join(errs...)
}
