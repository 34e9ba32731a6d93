package engineargs

import (
	"fmt"

	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// valueOf is the value of the flag, absent where it is not given.
func valueOf(f vllm.Flag, count int) incident.Value {
	if count == 0 {
		return incident.Value{}
	}
	return incident.Set(f.Value)
}

// defaultValue is what vLLM uses when the flag is not given. Only the configuration says it: a guess could be wrong
// by a factor of eight.
func (s *setting) defaultValue() (int64, error) {
	for _, no := range []*incident.RefusedError{
		s.box.refuseUnproven(s.argument.flag),
		s.box.refuseHidden(s.argument.flag),
	} {
		if no != nil {
			return 0, no
		}
	}
	n := s.knob().Default
	if n == 0 {
		return 0, &incident.RefusedError{
			Reason: fmt.Sprintf(
				"--%s is not given, and what vLLM uses then depends on version, model and GPU: it is not known "+
					"without %s",
				s.argument.flag, s.defaultSetting(),
			),
			Hint: fmt.Sprintf("Set %s of pool %s to the %[3]s that vLLM logs at its start, for example "+
				"%[3]s: {..., default: %d}. Or give the flag by hand.",
				s.defaultSetting(), s.pool.Name, s.kind, s.example),
		}
	}
	return n, s.checkDefault(s.box.line, n, s.knob().ChunkedPrefill)
}

// valueText is the value as the title has it, with where it is from.
func (s *setting) valueText(now int64) string {
	if s.count == 0 {
		return fmt.Sprintf("vLLM's default of %d", now)
	}
	return s.flag.Value
}

// assumedText says where a value is from that the arguments do not have.
func (s *setting) assumedText(now int64) string {
	if s.count > 0 {
		return ""
	}
	return fmt.Sprintf(
		" The flag isn't set now; that vLLM uses %d then is what %s says. The rollback removes it again.", now,
		s.defaultSetting(),
	)
}

// edited is the list of the manifest that has to change, as it should be.
func (s *setting) edited(to incident.Value) (edit vllm.Edit, err error) {
	switch {
	case to.Present && s.count == 0:
		return s.box.line.Add(s.added(to)), nil
	case to.Present:
		edit, err = s.box.line.Set(s.flag, to.Text)
	case s.count == 1:
		edit, err = s.box.line.Remove(s.flag)
	default:
		err = live.Refused(
			"--%s is given %d times, and the bot takes away only what it added: take it away by hand",
			s.argument.flag, s.count,
		)
	}
	return edit, refuseUnclear(err)
}

// added is the flag as the bot writes it.
func (s *setting) added(v incident.Value) string { return vllm.Written(s.argument.flag, v.Text) }
