package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// What is read of crashes: the newest five, and of the newest two the end of their logs. More is read than shown:
// vLLM's API server writes its own traceback after that of the engine ("see root cause above").
const (
	maxCrashes   = 5
	maxLogs      = 2
	readLines    = 200
	fewLines     = 20 // when the others are too long
	shownLines   = 20
	logBytes     = 64 << 10
	maxLogLine   = 300 // runes
	logPatience  = 3 * time.Second
	outOfGPUName = "gpu"
)

// ended is the last end of a container.
type ended struct {
	crash    incident.Crash
	restarts int32
	// previous says that the container runs again, or waits to: its log is then that of the run before.
	previous bool
	// withPod says that its pod ended for good with it, which is told as the end of the pod.
	withPod bool
}

// endings are the newest ends of the engine's containers, the newest first. Of init containers only those count that
// keep their pod from starting now.
func endings(pods []corev1.Pod, container string) []ended {
	var out []ended
	for i := range pods {
		pod := &pods[i]
		for _, s := range slices.Concat(engineStatuses(pod, container), failingInits(pod)) {
			out = append(out, endOf(pod, s)...)
		}
	}
	slices.SortStableFunc(out, func(a, b ended) int {
		return cmp.Or(
			b.crash.At.Compare(a.crash.At),
			cmp.Compare(a.crash.Pod, b.crash.Pod),
			cmp.Compare(a.crash.Container, b.crash.Container),
		)
	})
	return out[:min(len(out), maxCrashes)]
}

func endOf(pod *corev1.Pod, s corev1.ContainerStatus) []ended {
	t, previous := s.State.Terminated, false
	if t == nil {
		t, previous = s.LastTerminationState.Terminated, true
	}
	if t == nil {
		return nil
	}
	e := ended{
		restarts: s.RestartCount,
		previous: previous,
		withPod:  endedForGood(pod),
		crash: incident.Crash{
			Pod:       pod.Name,
			Container: s.Name,
			Reason:    redact.Shown(t.Reason),
			ExitCode:  int64(t.ExitCode),
		},
	}
	if !t.FinishedAt.IsZero() {
		e.crash.At = t.FinishedAt.UTC()
	}
	return []ended{e}
}

// restart is the end as a change, when it is recent.
func (e *ended) restart(now time.Time) (incident.RecentChange, bool) {
	if e.withPod || !recent(e.crash.At, now) {
		return incident.RecentChange{}, false
	}
	then := "and has not been started again"
	if e.previous {
		then = fmt.Sprintf("and was started again (%d restarts)", e.restarts)
	}
	return incident.RecentChange{
		At: e.crash.At, Kind: incident.ChangeRestart, Object: "Pod " + e.crash.Pod,
		Text: fmt.Sprintf(
			"container %s ended: %s, exit code %d, %s",
			e.crash.Container,
			cmp.Or(e.crash.Reason, "no reason given"),
			e.crash.ExitCode,
			then,
		),
	}, true
}

// readLog fills in the last lines of a crash's log, and what they say about memory.
func (k *Reader) readLog(ctx context.Context, namespace string, e *ended) error {
	ctx, cancel := context.WithTimeoutCause(ctx, k.logPatience, errSlowLog)
	defer cancel()
	raw, whole, err := k.tail(ctx, namespace, e, readLines)
	if err == nil && !whole {
		// The limit cuts off the end, which matters most.
		raw, whole, err = k.tail(ctx, namespace, e, fewLines)
	}
	if err != nil {
		return logError(ctx, err, namespace, e)
	}
	if !whole {
		raw = atWord(raw)
	}
	text := redact.Clean(raw)
	if outOfGPU(text) {
		e.crash.OutOfMemory = outOfGPUName
	}
	e.crash.Log = logLinesOf(redact.Text(text))
	if len(e.crash.Log) == 0 {
		return fmt.Errorf("pod %s, container %s: it is empty", e.crash.Pod, e.crash.Container)
	}
	return nil
}

var errSlowLog = errors.New("its node did not answer in time")

// tail reads the last lines; whole is false when there was more than the limit.
func (k *Reader) tail(
	ctx context.Context,
	namespace string,
	e *ended,
	lines int64,
) (text string, whole bool, err error) {
	limit := int64(logBytes)
	stream, err := k.typed.CoreV1().Pods(namespace).GetLogs(e.crash.Pod, &corev1.PodLogOptions{
		Container: e.crash.Container, Previous: e.previous, TailLines: &lines, LimitBytes: &limit,
	}).Stream(ctx)
	if err != nil {
		return "", false, err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	b, err := io.ReadAll(io.LimitReader(stream, limit))
	return string(b), int64(len(b)) < limit, err
}

// atWord drops the last word of a text that was cut off: it may be the half of a secret.
func atWord(s string) string { return s[:strings.LastIndexAny(s, " \t\n")+1] }

// logError says in words why there is no log.
func logError(ctx context.Context, err error, namespace string, e *ended) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	switch {
	case apierrors.IsForbidden(err):
		return readError(err, "get", corev1.Resource("pods/log"), namespace)
	case apierrors.IsNotFound(err), apierrors.IsBadRequest(err):
		return fmt.Errorf(
			"pod %s, container %s: there is none: %s",
			e.crash.Pod,
			e.crash.Container,
			redact.Shown(err.Error()),
		)
	case apierrors.IsInternalError(err):
		return fmt.Errorf(
			"pod %s, container %s: the kubelet of its node could not be asked: %s",
			e.crash.Pod,
			e.crash.Container,
			redact.Shown(err.Error()),
		)
	}
	return fmt.Errorf("pod %s, container %s: %s", e.crash.Pod, e.crash.Container, redact.Shown(err.Error()))
}

// outOfGPU says whether a log speaks of a peak of the GPU's memory, in the words of PyTorch, CUDA and ROCm. vLLM's "No
// available memory for the cache blocks" is the opposite case, too little left for it at the start, and its cure is the
// opposite one.
func outOfGPU(log string) bool {
	return slices.ContainsFunc([]string{
		"torch.OutOfMemoryError", "torch.cuda.OutOfMemoryError", "CUDA out of memory",
		"CUDA error: out of memory", "HIP out of memory",
	}, func(words string) bool { return strings.Contains(log, words) })
}

// logLinesOf are the lines that have something in them, each cut to a bounded length.
func logLinesOf(text string) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " ")
		if strings.TrimSpace(line) == "" {
			continue
		}
		if r := []rune(line); len(r) > maxLogLine {
			line = string(r[:maxLogLine-3]) + "..."
		}
		out = append(out, line)
	}
	return out[max(0, len(out)-shownLines):]
}
