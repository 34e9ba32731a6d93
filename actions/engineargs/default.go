package engineargs

import (
	"fmt"

	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// defaultSetting is the setting that says what an absent flag means.
const defaultSetting = "knobs.max_num_batched_tokens.default"

// setting is the value of the flag, absent where it is not given.
func setting(f vllm.Flag, count int) incident.Value {
	if count == 0 {
		return incident.Value{}
	}
	return incident.Set(f.Value)
}

// byDefault is what vLLM uses when the flag is not given. Only the configuration says it: a guess could be wrong by a
// factor of eight.
func (t *tokens) byDefault() (int64, error) {
	for _, no := range []*incident.RefusedError{t.box.unproven(), t.box.unseen()} {
		if no != nil {
			return 0, no
		}
	}
	var n int64
	if k := t.pool.Knobs.MaxNumBatchedTokens; k != nil {
		n = k.Default
	}
	if n == 0 {
		return 0, &incident.RefusedError{
			Reason: fmt.Sprintf(
				"--%s is not given, and what vLLM uses then depends on version, model and GPU: it is not known "+
					"without %s",
				vllm.MaxNumBatchedTokens, defaultSetting,
			),
			Hint: fmt.Sprintf("Set %s of pool %s to the max_num_batched_tokens that vLLM logs at its start, for "+
				"example %s: {..., default: 8192}. Or give the flag by hand.",
				defaultSetting, t.pool.Name, incident.StepMaxNumBatchedTokens),
		}
	}
	return n, possibleDefault(t.box.line, n, t.saysChunked())
}

// saysChunked is what the configuration says of chunked prefill; nil when it says nothing.
func (t *tokens) saysChunked() *bool {
	if k := t.pool.Knobs.MaxNumBatchedTokens; k != nil {
		return k.ChunkedPrefill
	}
	return nil
}

// said is the value as the title has it, with where it is from.
func (t *tokens) said(now int64) string {
	if t.count == 0 {
		return fmt.Sprintf("vLLM's default of %d", now)
	}
	return t.flag.Value
}

// assumed says where a value is from that the arguments do not have.
func (t *tokens) assumed(now int64) string {
	if t.count > 0 {
		return ""
	}
	return fmt.Sprintf(
		" The flag is not given now; that vLLM uses %d then is what %s says. The undo takes the flag away again.", now,
		defaultSetting,
	)
}

// edited is the list of the manifest that has to change, as it should be.
func (t *tokens) edited(to incident.Value) (edit vllm.Edit, err error) {
	switch {
	case to.Present && t.count == 0:
		return t.box.line.Add(added(to)), nil
	case to.Present:
		edit, err = t.box.line.Set(t.flag, to.Text)
	case t.count == 1:
		edit, err = t.box.line.Remove(t.flag)
	default:
		err = live.Refused(
			"--%s is given %d times, and the bot takes away only what it added: take it away by hand",
			vllm.MaxNumBatchedTokens, t.count,
		)
	}
	return edit, unclear(err)
}

// added is the flag as the bot writes it.
func added(v incident.Value) string { return vllm.Written(vllm.MaxNumBatchedTokens, v.Text) }
