package present

import "github.com/vllm-medic/vllm-medic/internal/incident"

// Checked says whether a step's change was tried out, and by whom; empty when nobody has said it.
func Checked(c incident.Checked) string {
	switch {
	case c == incident.Checked{}:
		return ""
	case c.OK:
		return "diff checked by " + checker(c.By)
	}
	return "diff not checked by " + checker(c.By)
}

func checker(by incident.CheckedBy) string {
	if by == incident.CheckedByServer {
		return "the API server"
	}
	return string(by)
}
