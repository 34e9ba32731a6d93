package efficacy

import (
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// bot is the hand of the bot together with a person who answers it.
type bot struct {
	hand

	client *client
	person *person
	known  map[string]int64
	latest map[string]incident.Incident
	order  []string
	// read is how many commits there were when the incidents were read.
	read int64
}

func newBot(w *world, p *person) *bot {
	b := &bot{
		hand: hand{world: w}, client: &client{http: w.client()}, person: p, known: map[string]int64{},
		latest: map[string]incident.Incident{},
	}
	b.act = b.look
	return b
}

// look shows the person every incident that is open.
func (b *bot) look(now time.Time) error {
	if n := b.world.commits.Load(); n != b.read {
		b.read = n
		news, err := b.client.incidents(b.known)
		if err != nil {
			return err
		}
		for _, inc := range news {
			if _, old := b.latest[inc.ID]; !old {
				b.order = append(b.order, inc.ID)
			}
			b.latest[inc.ID] = inc
		}
	}
	for _, id := range b.order {
		if err := b.person.sees(&b.hand, b.client, b.latest[id], now); err != nil {
			return err
		}
	}
	return nil
}

// journal are all incidents with their journals, the oldest first.
func (b *bot) journal() ([]incident.Incident, error) {
	var out []incident.Incident
	for _, id := range b.order {
		inc, err := b.client.whole(id)
		if err != nil {
			return nil, err
		}
		out = append(out, inc)
	}
	return out, nil
}
