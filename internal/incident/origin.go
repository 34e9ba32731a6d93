package incident

// Origin says where a threshold comes from.
type Origin string

// The origins.
const (
	// OriginRule is a number of a playbook. A reading of an older version has it, too: it did not say.
	OriginRule Origin = ""
	// OriginSLO is the pool's SLO: such a threshold is called a target, every other one a limit.
	OriginSLO Origin = "slo"
	// OriginReading is another reading, or a part of one: it moves with it, and is called neither.
	OriginReading Origin = "reading"
)
