package cluster

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestRolloutsOfAHistory(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	rev := func(number int64, created time.Time, image string) revision {
		tpl := template("x")
		tpl.Spec.Containers[0].Image = image
		return revision{
			number:    number,
			object:    "ReplicaSet " + image,
			created:   created,
			templates: map[string]*corev1.PodTemplateSpec{"": &tpl},
		}
	}
	again := rev(3, ago(48*time.Hour), "a")
	again.renewed = ago(5 * time.Minute)
	unreadable := rev(2, ago(time.Minute), "b")
	unreadable.templates = nil
	type change struct {
		Ago  time.Duration
		Text string
	}
	for _, tt := range []struct {
		name string
		h    history
		want []change
	}{
		{
			"nothing lately",
			history{revisions: []revision{rev(1, ago(72*time.Hour), "a"), rev(2, ago(3*time.Hour), "b")}},
			nil,
		},
		{
			"a first revision",
			history{revisions: []revision{rev(1, ago(time.Hour), "a")}},
			[]change{{time.Hour, "revision 1 (ReplicaSet a): no earlier one is kept to compare it with"}},
		},
		{
			"two of them",
			history{revisions: []revision{
				rev(1, ago(72*time.Hour), "a"), rev(2, ago(time.Hour), "b"),
				rev(3, ago(time.Minute), "c"),
			}},
			[]change{
				{time.Minute, "revision 3 (ReplicaSet c): image b -> c"}, {time.Hour, "revision 2 (ReplicaSet b): image a -> b"},
			},
		},
		{
			"exactly two hours ago",
			history{revisions: []revision{rev(1, ago(72*time.Hour), "a"), rev(2, ago(2*time.Hour), "b")}},
			[]change{{2 * time.Hour, "revision 2 (ReplicaSet b): image a -> b"}},
		},
		{
			"back to an earlier one of a Deployment",
			history{
				finished:  ago(time.Minute),
				revisions: []revision{rev(2, ago(24*time.Hour), "b"), rev(3, ago(48*time.Hour), "a")},
			},
			[]change{
				{time.Minute, "back to an earlier template as revision 3 (ReplicaSet a): image b -> a"},
			},
		},
		{
			"back, and nobody knows when",
			history{revisions: []revision{rev(2, ago(24*time.Hour), "b"), rev(3, ago(48*time.Hour), "a")}},
			nil,
		},
		{
			"back, where the revision tells when",
			history{revisions: []revision{rev(2, ago(24*time.Hour), "b"), again}},
			[]change{
				{5 * time.Minute, "back to an earlier template as revision 3 (ReplicaSet a): image b -> a"},
			},
		},
		{
			"the one before came back later",
			history{
				finished:  ago(time.Minute),
				revisions: []revision{rev(2, ago(time.Hour), "b"), rev(3, ago(48*time.Hour), "a")},
			},
			[]change{
				{time.Minute, "back to an earlier template as revision 3 (ReplicaSet a): image b -> a"},
				{time.Hour, "revision 2 (ReplicaSet b): image a -> b"},
			},
		},
		{
			"one in the middle came back",
			history{
				finished:  ago(time.Minute),
				revisions: []revision{rev(1, ago(50*time.Hour), "a"), rev(3, ago(time.Hour), "c"), rev(4, ago(40*time.Hour), "b")},
			},
			[]change{
				{time.Minute, "back to an earlier template as revision 4 (ReplicaSet b): image c -> b"},
				{time.Hour, "revision 3 (ReplicaSet c): image b -> c"},
			},
		},
		{
			"the same template",
			history{revisions: []revision{rev(1, ago(24*time.Hour), "a"), rev(2, ago(time.Minute), "a")}},
			[]change{
				{time.Minute, "revision 2 (ReplicaSet a): the template is the same as in revision 1"},
			},
		},
		{"a revision in another shape", history{revisions: []revision{rev(1, ago(24*time.Hour), "a"), unreadable}}, []change{
			{time.Minute, "revision 2 (ReplicaSet b): what changed cannot be read"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.h.of = incident.WorkloadRef{Kind: "Deployment", Name: "x"}
			var got []change
			for _, c := range tt.h.rollouts(now, "vllm") {
				if c.Kind != incident.ChangeRollout || c.Object != "Deployment x" {
					t.Errorf("%+v", c)
				}
				got = append(got, change{now.Sub(c.At), c.Text})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestScalingIsToldApartFromRollouts(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	ago := func(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }
	old, fresh := revision{
		number:  1,
		object:  "ReplicaSet old",
		created: ago(9000),
	}, revision{
		number:  2,
		object:  "ReplicaSet new",
		created: ago(60),
	}
	finished := history{finished: ago(50), revisions: []revision{old, fresh}}
	backNobodyKnowsWhen := history{
		finished:  ago(20),
		revisions: []revision{fresh, {number: 3, object: "ReplicaSet old", created: ago(9000)}},
	}
	back := history{finished: ago(20), revisions: slices.Clone(backNobodyKnowsWhen.revisions)}
	back.dateReturn(
		[]scaling{
			{at: ago(8999), replicaSet: "old", up: true, from: 0},
			{at: ago(5), replicaSet: "old", from: 3},
			{at: ago(30), replicaSet: "old", up: true, from: 0},
			{at: ago(25), replicaSet: "old", up: true, from: 1},
		},
	)
	if at, _ := back.began(1); !at.Equal(ago(30)) {
		t.Errorf("it went back at %v", at)
	}
	finished.dateReturn([]scaling{{at: ago(60), replicaSet: "new", up: true, from: 0}})
	if at, isBack := finished.began(1); isBack || !at.Equal(ago(60)) {
		t.Errorf("%v, %v", at, isBack)
	}
	for _, tt := range []struct {
		name string
		h    history
		s    scaling
		want bool
	}{
		{"the new one begins", finished, scaling{at: ago(60), replicaSet: "new", up: true, from: 0}, true},
		{"the new one grows", finished, scaling{at: ago(55), replicaSet: "new", up: true, from: 1}, true},
		{"the old one shrinks", finished, scaling{at: ago(55), replicaSet: "old", from: 3}, true},
		{"scaled before the rollout", finished, scaling{at: ago(90), replicaSet: "old", from: 4}, false},
		{"scaled up before the rollout", finished, scaling{at: ago(90), replicaSet: "old", up: true, from: 2}, false},
		{"scaled up after the rollout", finished, scaling{at: ago(10), replicaSet: "new", up: true, from: 3}, false},
		{"scaled down after the rollout", finished, scaling{at: ago(10), replicaSet: "new", from: 3}, false},
		{
			"the rollout goes on",
			history{running: true, revisions: []revision{old, fresh}},
			scaling{at: ago(1), replicaSet: "new", up: true, from: 1},
			true,
		},
		{
			"a ReplicaSet that is gone, in the time of the others", finished,
			scaling{at: ago(55), replicaSet: "gone", from: 1},
			true,
		},
		{
			"a ReplicaSet that is gone, before",
			history{revisions: []revision{fresh}},
			scaling{at: ago(90), replicaSet: "gone", from: 1},
			false,
		},
		{"no history", history{}, scaling{at: ago(1), replicaSet: "new", up: true, from: 1}, false},
		{"back to the old one", back, scaling{at: ago(25), replicaSet: "old", up: true, from: 0}, true},
		{"the newer one shrinks for it", back, scaling{at: ago(28), replicaSet: "new", from: 1}, true},
		{"scaled before it went back", back, scaling{at: ago(40), replicaSet: "new", from: 4}, false},
		{"the old one had shrunk for the newer one", back, scaling{at: ago(58), replicaSet: "old", from: 3}, true},
		{"the old one was scaled in its first life", back, scaling{at: ago(90), replicaSet: "old", from: 3}, false},
		{"the old one is scaled in its second life", back, scaling{at: ago(5), replicaSet: "old", from: 3}, false},
		{"went back at an unknown time", backNobodyKnowsWhen, scaling{at: ago(40), replicaSet: "new", from: 4}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.h.explains(tt.s); got != tt.want {
				t.Errorf("explains = %v", got)
			}
		})
	}
	rescale := scaling{at: ago(10), object: "HorizontalPodAutoscaler x", to: 5}
	for _, tt := range []struct {
		s    scaling
		want int
	}{
		{scaling{at: ago(10), replicaSet: "new", up: true, from: 3, to: 5}, 0},
		{scaling{at: ago(10), replicaSet: "new", up: true, from: 3, to: 4}, 1},
		{scaling{at: ago(15), replicaSet: "new", up: true, from: 3, to: 5}, 1},
	} {
		if got := scalings([]scaling{tt.s}, []scaling{rescale}, &finished); len(got) != tt.want {
			t.Errorf("%+v: %v", tt.s, got)
		}
	}
}

func TestEndings(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	terminated := func(ago time.Duration, code int32) corev1.ContainerState {
		return corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{
				Reason:     "Error",
				ExitCode:   code,
				FinishedAt: metav1.NewTime(now.Add(-ago)),
			},
		}
	}
	pod := func(name string, statuses ...corev1.ContainerStatus) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{ContainerStatuses: statuses}}
		for _, s := range statuses {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: s.Name})
		}
		return p
	}
	last := func(name string, ago time.Duration) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, RestartCount: 2, LastTerminationState: terminated(ago, 1)}
	}
	loading := pod("loading")
	loading.Status.InitContainerStatuses = []corev1.ContainerStatus{
		{Name: "fine", State: terminated(time.Second, 0)}, {Name: "download", State: terminated(30*time.Second, 2)},
	}
	undated := pod(
		"undated",
		corev1.ContainerStatus{
			Name:                 "vllm",
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 9}},
		},
	)
	var got []string
	for _, e := range endings([]corev1.Pod{
		undated, pod("a", last("vllm", time.Minute), last("sidecar", time.Second)), pod("b", last("other", 5*time.Hour)),
		loading,
		pod("dead", corev1.ContainerStatus{
			Name: "vllm", State: terminated(2*time.Minute, 1),
			LastTerminationState: terminated(time.Hour, 1),
		}), pod("calm"),
	}, "vllm") {
		text := e.crash.Pod + " " + e.crash.Container
		if c, ok := e.restart(now); ok {
			text += ": " + c.Text
		}
		got = append(got, text)
	}
	want := []string{
		"loading download: container download ended: Error, exit code 2, and has not been started again",
		"a vllm: container vllm ended: Error, exit code 1, and was started again (2 restarts)",
		"dead vllm: container vllm ended: Error, exit code 1, and has not been started again",
		"b other",
		"undated vllm",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	many := make([]corev1.Pod, 9)
	for i := range many {
		many[i] = pod(string(rune('a'+i)), last("vllm", time.Duration(9-i)*time.Minute))
	}
	if got := endings(many, ""); len(got) != maxCrashes || got[0].crash.Pod != "i" {
		t.Errorf("%+v", got)
	}
}

func TestOutOfGPUMemory(t *testing.T) {
	t.Parallel()
	for log, want := range map[string]bool{
		"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.":                       true,
		"torch.cuda.OutOfMemoryError: x":                                                                true,
		"ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`": false,
		"RuntimeError: CUDA error: out of memory":                                                       true,
		"Out of memory: Killed process 1 (python3)":                                                     false,
		"CUDA error: an illegal memory access was encountered":                                          false,
		"": false,
	} {
		if outOfGPU(log) != want {
			t.Errorf("%q", log)
		}
	}
}

func TestWhichEventsOfNodesMatter(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]bool{
		"NodeNotReady": true, "NodeHasDiskPressure": true, "NodeHasInsufficientMemory": true, "PreemptScheduled": true,
		"SpotInterrupted": true, "ScaleDown": true,
		"NodeReady": false, "NodeHasNoDiskPressure": false, "NodeHasSufficientMemory": false, "RegisteredNode": false,
		"Starting": false, "Unconsolidatable": false,
	} {
		if got := troubling(&corev1.Event{Reason: reason, Type: corev1.EventTypeNormal}); got != want {
			t.Errorf("%s: %v", reason, got)
		}
	}
	if !troubling(&corev1.Event{Reason: "AnythingElse", Type: corev1.EventTypeWarning}) {
		t.Error("a warning does not matter")
	}
}

func TestChangesAreNewestFirstAndBounded(t *testing.T) {
	t.Parallel()
	var all []incident.RecentChange
	for i := range 2 * maxChanges {
		all = append(all, incident.RecentChange{At: time.Unix(int64(i), 0), Text: strings.Repeat("é", 2*maxChangeText)})
	}
	got := newest(all)
	if len(got) != maxChanges || got[0].At.Unix() != int64(2*maxChanges-1) || len([]rune(got[0].Text)) != maxChangeText {
		t.Errorf("%d, %v, %d", len(got), got[0].At, len([]rune(got[0].Text)))
	}
}

func TestUnreadSaysEachReasonOnce(t *testing.T) {
	t.Parallel()
	err := errors.New("no right, api_key=hunter2")
	got := unread(unreadPart{"a", errors.Join(err, err)}, unreadPart{"b", nil}, unreadPart{"c", err})
	want := []incident.Unread{
		{Part: "a", Why: "no right, api_key=[redacted]"},
		{Part: "c", Why: "no right, api_key=[redacted]"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
