package scenarios

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/truth"
	"github.com/vllm-medic/vllm-medic/test/truth/surface"
)

// reading is the program that journeys run in place of the real one: it is the same, and keeps what that prints of
// incidents and pools for people, in files of the folder $TOLD. What runs until it is stopped isn't kept.
const reading = `#!/bin/sh
case " $* " in
*" --watch "* | *" -h "* | *" --help "* | *" -o "*) exec "%[1]s" "$@" ;;
esac
case "$1 $2" in
"incidents show" | "incidents list" | "diagnose "*) ;;
*) exec "%[1]s" "$@" ;;
esac
kept=$(mktemp "${TOLD:?}/said.XXXXXX") || exit 70
"%[1]s" "$@" >"$kept"
code=$?
cat "$kept"
exit "$code"
`

// keepWhatIsSaid puts that program into a folder of its own below the one of the real one, and returns it.
func keepWhatIsSaid(dir string) (string, error) {
	folder := filepath.Join(dir, "reading")
	program := fmt.Sprintf(reading, filepath.Join(dir, "vllm-medic"))
	err := errors.Join(os.Mkdir(folder, 0o700),
		os.WriteFile(filepath.Join(folder, "vllm-medic"), []byte(program), 0o700))
	return folder, err
}

// terminalsTellTheTruth reads all that commands have printed in a journey as docs/truth.md says.
func (j *journey) terminalsTellTheTruth() {
	files, err := filepath.Glob(filepath.Join(j.told, "said.*"))
	if err != nil {
		j.t.Error(err)
	}
	for _, file := range files {
		printed, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			j.t.Error(err)
		}
		for _, said := range []map[string]truth.Version{surface.Terminal(string(printed)), surface.Table(string(printed))} {
			for about, v := range said {
				for _, lie := range truth.InItself(v) {
					j.t.Errorf("what is printed of %s is not true: %s\n%s", about, lie, v.Text)
				}
			}
		}
	}
}

var oneIncident = regexp.MustCompile(`^(/api/v1)?(/incidents/[\w-]+)$`)

// pageTellsTheTruth reads the page of an incident that a journey has looked at, as JSON or as the page itself. Where
// the incident stays as it is meanwhile, the page is held to it, else to itself.
func pageTellsTheTruth(ts *testscript.TestScript, path string) {
	m := oneIncident.FindStringSubmatch(path)
	if m == nil {
		return
	}
	page, before, after := "", "", ""
	for _, read := range []struct {
		path string
		into *string
	}{{"/api/v1" + m[2], &before}, {m[2], &page}, {"/api/v1" + m[2], &after}} {
		code, text := readAPI(ts, read.path)
		if code != http.StatusOK {
			return // a journey about who may not, or what is not there
		}
		*read.into = text
	}
	v, err := surface.Page(page)
	ts.Check(err)
	lies := truth.InItself(v)
	if before == after {
		var inc incident.Incident
		ts.Check(json.Unmarshal([]byte(before), &inc))
		lies = truth.Of(inc, v)
	}
	for _, lie := range lies {
		ts.Fatalf("%s is not true: %s\n%s", m[2], lie, v.Text)
	}
}
