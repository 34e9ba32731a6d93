package scenarios

import (
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

// database is the URL of a PostgreSQL database of the journey's own, which the bot finds in $DATABASE_URL.
func (j *journey) database(env *testscript.Env) string {
	url := storetest.PostgreSQL(j.t)
	env.Setenv("DATABASE_URL", url)
	return url
}

// tamper runs statements in the bot's database as somebody who may do everything there, and who takes away first what
// guards the journal: tamper STATEMENT...
func tamper(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: tamper STATEMENT...")
	}
	url := ts.Getenv("DATABASE_URL")
	if url == "" {
		url = "sqlite://" + ts.MkAbs("medic.db")
	}
	ts.Check(storetest.Tamper(of(ts).t.Context(), url, args...))
}
