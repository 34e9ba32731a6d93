package fakeslack

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	// responseURLUses and responseURLLife are Slack's documented limits.
	responseURLUses = 5
	responseURLLife = 30 * time.Minute
)

// responseURL is where a bot can answer one click.
type responseURL struct {
	clickID            string
	channel, messageTS string
	user               string
	uses               int
	expires            time.Time
}

// responseFields are the arguments of a response_url that this double knows, with
// the one value that it takes where there is one.
var responseFields = map[string]string{
	"text": "", "blocks": "", "thread_ts": "", "response_type": "ephemeral", "replace_original": "false",
	"delete_original": "false",
}

func (s *Server) newResponseURL(clickID, channel, messageTS, user string) string {
	id := s.nextID("R") + randomHex(12)
	s.responseURLs[id] = &responseURL{
		clickID: clickID, channel: channel, messageTS: messageTS, user: user,
		expires: time.Now().Add(responseURLLife),
	}
	return s.baseURL + "/actions/" + TeamID + "/" + id
}

// serveResponseURL takes an answer to a click. In Calls it is the method "response_url".
func (s *Server) serveResponseURL(w http.ResponseWriter, hr *http.Request) {
	r := request{method: "response_url", args: map[string]string{}}
	body, err := io.ReadAll(http.MaxBytesReader(w, hr.Body, maxBody))
	bad := r.decodeJSON(body)
	if err != nil {
		bad = refuse("request_timeout")
	}
	s.carry(w, hr, r, func() (int, answer, *slackError) {
		status, e := s.answerClick(hr.PathValue("id"), r, bad)
		return status, answer{}, e
	})
}

func (s *Server) answerClick(id string, r request, bad *slackError) (int, *slackError) {
	u, ok := s.responseURLs[id]
	switch {
	case !ok:
		return http.StatusNotFound, refuse("invalid_url")
	case time.Now().After(u.expires):
		return http.StatusNotFound, refuse("expired_url")
	case u.uses >= responseURLUses:
		return http.StatusNotFound, refuse("used_url")
	case bad != nil:
		return http.StatusBadRequest, refuse("invalid_payload")
	}
	for name, value := range r.args {
		if only, known := responseFields[name]; !known || only != "" && value != only {
			s.unexpected = append(s.unexpected,
				fmt.Sprintf("response_url: argument %s=%.20q is not one that this double knows", name, value))
		}
	}
	u.uses++
	return http.StatusOK, s.applyAnswer(u, r)
}

// applyAnswer tells the person who clicked, and nobody else. Slack can also post in
// the channel or change the clicked message from here; the bot does neither.
func (s *Server) applyAnswer(u *responseURL, r request) *slackError {
	v, e := s.readContent(r, nil)
	if e != nil {
		return e
	}
	s.addEphemeral(Ephemeral{
		Channel: u.channel, User: u.user, ThreadTS: r.args["thread_ts"], Text: v.Text, Blocks: v.Blocks,
		ClickID: u.clickID, MessageTS: u.messageTS,
	})
	return nil
}
