package incident

import "slices"

// mostUnrecorded bounds how many writes without a record an incident tells of: somebody else may set what an object
// says again and again. The steps on the object keep their cautions.
const mostUnrecorded = 16

// unrecorded tells of each write without a record once in the incident, and once of what isn't known about them.
func (a *applier) unrecorded(found []Note) {
	for _, n := range found {
		key := string(n.Kind)
		if n.Kind == NoteUnrecorded && n.LastWrite != nil {
			key = n.Target.Key() + " " + n.LastWrite.ID
		}
		if slices.Contains(a.inc.Unrecorded, key) || len(a.inc.Unrecorded) >= mostUnrecorded {
			continue
		}
		a.inc.Unrecorded = append(a.inc.Unrecorded, key)
		a.say(n)
	}
}
