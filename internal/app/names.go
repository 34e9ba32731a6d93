package app

import (
	"context"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

const (
	// nameFor is how long a person's name is remembered, and noNameFor how long Slack is left alone that did not tell one.
	nameFor   = time.Hour
	noNameFor = time.Minute
	// nameWait is how long a page waits for a name. A page with an id is better than none.
	nameWait = time.Second
)

// names remembers what Slack calls people. It decides nothing: who may do what goes by their ids.
type names struct {
	ask func(ctx context.Context, id string) (string, error)
	now func() time.Time
	mu  sync.Mutex
	of  map[string]name
	// quiet is until when nobody is asked, because somebody has not answered.
	quiet time.Time
}

type name struct {
	text  string
	until time.Time
}

// get is a name, or empty when it is not known.
func (n *names) get(ctx context.Context, id string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	known, ok := n.of[id]
	if ok && n.now().Before(known.until) || n.now().Before(n.quiet) {
		return known.text
	}
	ctx, cancel := context.WithTimeout(ctx, nameWait)
	defer cancel()
	text, err := n.ask(ctx, id)
	if err != nil { // an old name is better than an id, and one page does not wait for many
		n.quiet = n.now().Add(noNameFor)
		return known.text
	}
	next := name{present.Clip(present.Line(text), 60), n.now().Add(nameFor)}
	if n.of == nil {
		n.of = map[string]name{}
	}
	n.of[id] = next
	return next.text
}

// nameOf is what people call somebody: the name of their account in Slack, else of their user in Kubernetes.
func (a *App) nameOf(ctx context.Context, who incident.Actor) string {
	if who.Kind != incident.ActorSlack {
		return present.Person(who)
	}
	if user, ok := a.opts.Config.Access.SlackUsers[who.ID]; ok {
		return user.Name
	}
	if a.slack == nil {
		return present.Person(who)
	}
	if name := a.slack.names.get(ctx, who.ID); name != "" {
		return name
	}
	return present.Person(who)
}
