package incident

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// storedAlerts are the alerts of a stored incident, within the bounds of one that is kept: older versions had none, and
// what they stored must not be in memory as a whole.
type storedAlerts struct {
	kept    []Alert
	unkept  *unkept
	leftOut int
}

// UnmarshalJSON reads them one after the other, and lets go of what is too much on the way.
func (s *storedAlerts) UnmarshalJSON(b []byte) error {
	if len(b) <= firingBytes {
		return json.Unmarshal(b, &s.kept)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		return fmt.Errorf("the alerts are no list: %v, %w", t, err)
	}
	s.kept = []Alert{}
	for taken := 0; dec.More(); {
		var a Alert
		if err := dec.Decode(&a); err != nil {
			return err
		}
		s.kept, taken = append(s.kept, a), taken+a.size()
		if taken > 2*(firingBytes+endedBytes) || len(s.kept) > 2*(firingKept+endedMost) {
			s.bound()
			taken = 0
			for _, x := range s.kept {
				taken += x.size()
			}
		}
	}
	s.bound()
	return nil
}

// bound lets go of what is beyond the bounds. How late a word about an ended alert may be is not known here: as many as
// there is room for are kept.
func (s *storedAlerts) bound() {
	var firing, ended []Alert
	for _, x := range s.kept {
		if x.Firing {
			firing = append(firing, x)
		} else {
			ended = append(ended, x)
		}
	}
	if _, over := worstOf(firing); len(over) > 0 {
		if s.unkept == nil {
			s.unkept = Unkept{}.open()
		}
		s.unkept.take(over)
		gone := make(map[string]bool, len(over))
		for _, x := range over {
			gone[x.Fingerprint] = true
		}
		kept := s.kept[:0:0]
		for _, x := range s.kept {
			if !x.Firing || !gone[x.Fingerprint] {
				kept = append(kept, x)
			}
		}
		s.kept = kept
	}
	if keep := endedRoom(ended, time.Time{}); keep < len(ended) {
		s.leftOut += len(ended) - keep
		s.kept = keepEnded(s.kept, ended[:keep])
	}
}

// into hands them to their incident.
func (s *storedAlerts) into(i *Incident) {
	i.Alerts = s.kept
	i.AlertsLeftOut += s.leftOut
	if s.unkept == nil {
		return
	}
	u := i.AlertsNotKept.open()
	u.beyond += s.unkept.beyond
	u.heardAt = later(u.heardAt, s.unkept.heardAt)
	for n := range s.unkept.known {
		u.known[n] = true
	}
	i.AlertsNotKept = u.closed()
}
