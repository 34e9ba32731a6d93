package diagnosis

// None is the label of an incident about which nothing can or should be said.
const None = "none"

// Truths are the labels that an incident may have.
func Truths() []string {
	return []string{
		"engine-errors", "engine-dead", "oom-at-batch-expansion", "stalled", "nixl-transfer-failing", "nixl-lease-expiring",
		"kv-thrash",
		"at-capacity", "uneven-ranks", "one-bad-replica", "deferred-waits", "slow-kv-offload",
		"warming-up", "prefix-cache-miss", "queueing",
		"long-prefill",
		"prefill-saturation",
		"prefill-starvation", "prefill-interference", "big-decode-batch", "batch-capped", "client-timeouts",
		"cancels-without-overload", "scattered-errors",
		"long-answers", "healthy-full-batch", "gpu-underutilised", "idle", "light-load", "memory-leak",
		"gpu-memory-by-design", "spec-decode-unprofitable", "slower-at-equal-load", "frontend-bound",
		"mixed-versions", "role-starved",
		"dead-alert", None,
	}
}

// The dialects.
const (
	native       = "native"
	underscore   = "underscore"
	ray          = "ray"
	rayColon     = "ray-colon"
	kserveTwins  = "kserve-twins"
	routerTwins  = "router-twins"
	nim          = "nim"
	simulator    = "simulator"
	stallFrozen  = "frozen"
	stallPiling  = "piling"
	targetUp     = "up"
	targetDown   = "down"
	targetLost   = "lost"
	targetGone   = "gone"
	targetSilent = "silent"
)

// Dialects lists how metrics may be spelled.
func Dialects() []string {
	return []string{native, underscore, ray, rayColon, kserveTwins, routerTwins, nim, simulator}
}
