package workloads

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
)

// A container that ends again and again starts after longer and longer pauses; one that ran for long is as new.
const (
	firstPause = 10 * time.Second
	longPause  = 5 * time.Minute
	proven     = 10 * time.Minute
)

// run is what a kubelet knows of a pod.
type run struct {
	Run

	// live says that it runs; ending that it was asked to end.
	live, ending, ready bool
	began               time.Time
	// pause is the one after the next end, and until when the present one lasts.
	pause time.Duration
	until time.Time
}

// runPods does what the kubelets of all nodes do.
func (c *Cluster) runPods() error {
	pods, err := kubeapi.All[corev1.Pod](c.server.As(kubelet), podKind)
	if err != nil {
		return err
	}
	nodes, err := kubeapi.All[corev1.Node](c.server.As(kubelet), nodeKind)
	if err != nil {
		return err
	}
	up := map[string]bool{}
	for _, n := range nodes {
		up[n.Name] = nodeReady(n)
	}
	var errs []error
	seen := map[types.UID]bool{}
	for _, p := range pods {
		if p.Spec.NodeName == "" || over(p) {
			continue
		}
		seen[p.UID] = true
		if is, exists := up[p.Spec.NodeName]; exists && is {
			errs = append(errs, c.runPod(p))
		} else if c.runs[p.UID] != nil {
			c.cut(p.UID) // nothing on a node that is away serves, or can be seen
		}
	}
	for uid := range c.runs {
		if !seen[uid] {
			c.cut(uid)
			delete(c.runs, uid)
		}
	}
	return lasting(errs...)
}

// cut ends a run of which the cluster sees nothing any more.
func (c *Cluster) cut(uid types.UID) {
	if r := c.runs[uid]; r.live {
		r.live, r.ready = false, false
		c.opts.Fleet.Ended(r.ID())
	}
}

func (c *Cluster) runPod(p *corev1.Pod) error {
	r := c.runs[p.UID]
	switch {
	case p.DeletionTimestamp != nil:
		return c.endPod(p, r)
	case r == nil:
		r = &run{Run: Run{Pod: p}, pause: firstPause}
		c.runs[p.UID] = r
		return c.begin(p, r)
	case !r.live && !c.opts.Now().Before(r.until):
		r.Pod, r.Number = p, r.Number+1
		return c.begin(p, r)
	case !r.live:
		return nil
	}
	state := c.opts.Fleet.State(r.ID())
	if state.Ended != nil {
		return c.crashed(p, r, state.Ended)
	}
	if state.Ready == r.ready {
		return nil
	}
	r.ready = state.Ready
	c.opts.Fleet.Ready(r.ID(), r.ready)
	return c.writeStatus(p, func(p *corev1.Pod) { c.setReady(p, r.ready) })
}

// begin starts the containers of a pod.
func (c *Cluster) begin(p *corev1.Pod, r *run) error {
	r.live, r.ready, r.began = true, false, c.opts.Now()
	at := c.now()
	err := c.writeStatus(p, func(p *corev1.Pod) {
		if p.Status.StartTime == nil {
			p.Status.StartTime = &at
			p.Status.PodIP, p.Status.HostIP = c.nextAddress(), "10.0.0.1"
			p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
			c.mark(p, corev1.PodReadyToStartContainers, corev1.ConditionTrue, "", "")
			c.mark(p, corev1.PodInitialized, corev1.ConditionTrue, "", "")
		}
		p.Status.Phase = corev1.PodRunning
		old := p.Status.ContainerStatuses
		p.Status.ContainerStatuses = nil
		for i, container := range p.Spec.Containers {
			s := corev1.ContainerStatus{Name: container.Name}
			if i < len(old) {
				s = old[i]
			}
			if s.State.Running == nil {
				s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}
				s.ContainerID = fmt.Sprintf("sandbox://%s/%s/%d", p.UID, container.Name, r.Number)
			}
			s.Image, s.ImageID, s.Started = container.Image, container.Image, new(true)
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, s)
		}
		c.setReady(p, false)
	})
	if err != nil {
		r.live = false // it is tried again
		if r.Number > 0 {
			r.Number--
		} else {
			delete(c.runs, p.UID)
		}
		return err
	}
	c.opts.Fleet.Started(r.Run)
	for _, container := range p.Spec.Containers {
		if err := c.tell(kubelet, corev1.EventTypeNormal, aboutPod(p), "Started", "Started container %s",
			container.Name); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) nextAddress() string {
	const byteful = 254
	c.address++
	return fmt.Sprintf("10.244.%d.%d", c.address/byteful, c.address%byteful+1)
}

// setReady writes whether a pod serves into its status.
func (c *Cluster) setReady(p *corev1.Pod, ready bool) {
	var waiting []string
	for i := range p.Status.ContainerStatuses {
		s := &p.Status.ContainerStatuses[i]
		if s.Ready = ready && s.State.Running != nil; !s.Ready {
			waiting = append(waiting, s.Name)
		}
	}
	is, reason, message := corev1.ConditionTrue, "", ""
	if len(waiting) > 0 {
		is, reason = corev1.ConditionFalse, "ContainersNotReady"
		message = fmt.Sprintf("containers with unready status: %v", waiting)
	}
	c.mark(p, corev1.ContainersReady, is, reason, message)
	c.mark(p, corev1.PodReady, is, reason, message)
}

// crashed notes how a container ended, and when it starts again.
func (c *Cluster) crashed(p *corev1.Pod, r *run, end *End) error {
	if c.opts.Now().Sub(r.began) >= proven {
		r.pause = firstPause
	}
	name := cmp.Or(end.Container, p.Spec.Containers[0].Name)
	at := c.now()
	wait := r.pause
	if r.Number == 0 {
		wait = 0 // the first time it starts at once
	}
	err := c.writeStatus(p, func(p *corev1.Pod) {
		for i := range p.Status.ContainerStatuses {
			s := &p.Status.ContainerStatuses[i]
			if s.Name != name {
				continue
			}
			over := &corev1.ContainerStateTerminated{
				ExitCode: end.Code, Reason: end.Reason, FinishedAt: at, ContainerID: s.ContainerID,
			}
			if s.State.Running != nil {
				over.StartedAt = s.State.Running.StartedAt
			}
			s.LastTerminationState = corev1.ContainerState{Terminated: over}
			s.RestartCount++
			s.Started = new(false)
			s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
				Reason: "CrashLoopBackOff", Message: fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)",
					wait, name, p.Name, p.Namespace, p.UID),
			}}
		}
		c.setReady(p, r.ready)
	})
	if err != nil {
		return err
	}
	r.live, r.ready = false, false
	r.until = c.opts.Now().Add(wait)
	if wait > 0 {
		r.pause = min(2*r.pause, longPause)
	}
	c.opts.Fleet.Ended(r.ID())
	if wait == 0 {
		return nil
	}
	return c.tell(kubelet, corev1.EventTypeWarning, aboutPod(p), "BackOff",
		"Back-off restarting failed container %s in pod %s_%s(%s)", name, p.Name, p.Namespace, p.UID)
}

// endPod asks a pod to end, and takes it away once it has, or its time is up.
func (c *Cluster) endPod(p *corev1.Pod, r *run) error {
	by := p.DeletionTimestamp.Time
	if r != nil && r.live {
		if !r.ending {
			r.ending = true
			c.opts.Fleet.Ending(r.ID(), by)
			if err := c.tell(kubelet, corev1.EventTypeNormal, aboutPod(p), "Killing", "Stopping container %s",
				p.Spec.Containers[0].Name); err != nil {
				return err
			}
		}
		if c.opts.Fleet.State(r.ID()).Ended == nil && c.opts.Now().Before(by) {
			return nil
		}
		c.cut(p.UID)
	}
	err := c.server.As(kubelet).Delete(podKind, p, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (c *Cluster) writeStatus(p *corev1.Pod, f func(*corev1.Pod)) error {
	return kubeapi.Change(c.server.As(kubelet), podKind, "status", p, func(p *corev1.Pod) error {
		f(p)
		p.Status.ObservedGeneration = p.Generation
		return nil
	})
}
