package workloads

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
)

// kept is how long events are kept, as the API server does by default.
const kept = time.Hour

// suffix is how many letters make the name of an event one of its own.
const suffix = 12

// thing is what an event is about.
type thing struct {
	schema.GroupVersionKind
	metav1.Object
}

// tell makes an event. One of the same words about the same object counts up.
func (c *Cluster) tell(by, kind string, about thing, reason, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	namespace := about.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	like := strings.Join([]string{by, string(about.GetUID()), kind, reason}, "\n")
	same := like + "\n" + message
	if c.many(like, message) {
		same, message = like, "(combined from similar events): "+message
	}
	at := c.now()
	if name := c.told[same]; name != "" {
		old := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
		err := kubeapi.Change(c.server.As(by), eventKind, "", old, func(e *corev1.Event) error {
			e.Count++
			e.Message = message
			e.LastTimestamp = at
			return nil
		})
		if err == nil || !apierrors.IsNotFound(err) {
			return err
		}
	}
	version, kindName := about.ToAPIVersionAndKind()
	e := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s.%s", about.GetName(), rand.String(suffix)), Namespace: namespace,
		},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: version, Kind: kindName, Namespace: about.GetNamespace(), Name: about.GetName(), UID: about.GetUID(),
		},
		Type: kind, Reason: reason, Message: message, Count: 1, FirstTimestamp: at, LastTimestamp: at,
		Source: corev1.EventSource{Component: by}, ReportingController: by,
	}
	if err := kubeapi.Create(c.server.As(by), eventKind, e); err != nil {
		return err
	}
	c.told[same] = e.Name
	return nil
}

// Of many events that differ in their words only, the further ones are told as one.
const (
	severalAlike = 10
	alikeFor     = 10 * time.Minute
)

// similar are the words of events that are alike otherwise.
type similar struct {
	last  time.Time
	words map[string]bool
}

// many says that there have been so many events of this kind lately that they are told as one.
func (c *Cluster) many(like, message string) bool {
	now := c.opts.Now()
	s := c.alike[like]
	if s == nil || now.Sub(s.last) > alikeFor {
		s = &similar{words: map[string]bool{}}
		c.alike[like] = s
	}
	s.last = now
	s.words[message] = true
	return len(s.words) >= severalAlike
}

// forget takes away the events that are too old.
func (c *Cluster) forget() error {
	all, err := kubeapi.All[corev1.Event](c.manager(), eventKind)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range all {
		if c.opts.Now().Sub(e.LastTimestamp.Time) >= kept && !e.LastTimestamp.IsZero() {
			errs = append(errs, c.manager().Delete(eventKind, e, metav1.DeleteOptions{}))
			maps.DeleteFunc(c.told, func(_, name string) bool { return name == e.Name })
		}
	}
	maps.DeleteFunc(c.alike, func(_ string, s *similar) bool { return c.opts.Now().Sub(s.last) > alikeFor })
	return lasting(errs...)
}

func number(n int32) string { return strconv.Itoa(int(n)) }
