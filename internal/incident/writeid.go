package incident

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// WriteID names a write: a step of an incident, and what is done with it since when. As text it is what the written
// object carries.
type WriteID struct {
	Incident, Step string
	Op             Op
	// Since is when the step became the incident's active one, in whole seconds.
	Since time.Time
}

// String is "inc-5b3kq2ha.p1-s1.apply.1795725240": the same for the same step and operation, so that a repeated write
// is recognized.
func (w WriteID) String() string {
	return fmt.Sprintf("%s.%s.%s.%d", w.Incident, w.Step, w.Op, w.Since.Unix())
}

// longestWriteID is far above what String answers; what is longer is no write's.
const longestWriteID = 128

var namePart = regexp.MustCompile(`^[a-z0-9-]+$`)

// ParseWriteID reads what String answers, and nothing else: anybody who may change an object can set what it carries.
func ParseWriteID(text string) (w WriteID, ok bool) {
	if len(text) > longestWriteID {
		return WriteID{}, false
	}
	parts := strings.Split(text, ".")
	if len(parts) != 4 {
		return WriteID{}, false
	}
	since, err := strconv.ParseInt(parts[3], 10, 64)
	if err != nil || since <= 0 || !namePart.MatchString(parts[0]) || !namePart.MatchString(parts[1]) {
		return WriteID{}, false
	}
	w = WriteID{Incident: parts[0], Step: parts[1], Op: Op(parts[2]), Since: time.Unix(since, 0).UTC()}
	if w.Op != OpApply && w.Op != OpUndo || w.String() != text {
		return WriteID{}, false
	}
	return w, true
}
