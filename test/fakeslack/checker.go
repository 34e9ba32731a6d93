package fakeslack

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

type surface string

const (
	inMessage surface = "message"
	inModal   surface = "modal"
)

// object is one JSON object while it is being checked.
type object = map[string]any

// checker collects everything that is wrong with one payload. Lengths are
// counted in characters (code points), as Slack's messages say.
type checker struct {
	surface  surface
	details  []string
	blockIDs map[string]bool

	text   int // all text of the payload
	charts int
	tables int
	inputs int
}

func newChecker(on surface) *checker {
	return &checker{surface: on, blockIDs: map[string]bool{}}
}

func (c *checker) fail(at, format string, args ...any) {
	c.details = append(c.details, fmt.Sprintf(format, args...)+" [json-pointer:"+at+"]")
}

// keys reports every property that the object must not have.
func (c *checker) keys(o object, at string, allowed ...string) {
	for _, key := range sortedKeys(o) {
		if !slices.Contains(allowed, key) {
			c.fail(at, "invalid additional property: %s", key)
		}
	}
}

func sortedKeys(o object) []string {
	keys := make([]string, 0, len(o))
	for k := range o {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// child returns a property that must be an object; ok is false when it is
// absent or something else, which is reported.
func (c *checker) child(o object, at, key string, required bool) (object, bool) {
	v, present := o[key]
	if !present || v == nil {
		if required {
			c.fail(at, "missing required field: %s", key)
		}
		return nil, false
	}
	child, ok := v.(object)
	if !ok {
		c.fail(at+"/"+key, "must be an object")
	}
	return child, ok
}

// str checks a property that must be a string of 1 to most characters.
func (c *checker) str(o object, at, key string, required bool, most int) string {
	v, present := o[key]
	if !present {
		if required {
			c.fail(at, "missing required field: %s", key)
		}
		return ""
	}
	text, ok := v.(string)
	if !ok {
		c.fail(at+"/"+key, "must be a string")
		return ""
	}
	c.length(text, at+"/"+key, 1, most)
	return text
}

func (c *checker) length(text, at string, least, most int) {
	n := utf8.RuneCountInString(text)
	if n < least {
		c.fail(at, "must be more than %d characters", least-1)
	}
	if n > most {
		c.fail(at, "must be less than %d characters", most+1)
	}
}

// list checks a property that must be a list of least to most items.
func (c *checker) list(o object, at, key string, required bool, least, most int) []any {
	v, present := o[key]
	if !present {
		if required {
			c.fail(at, "missing required field: %s", key)
		}
		return nil
	}
	items, ok := v.([]any)
	if !ok {
		c.fail(at+"/"+key, "must be an array")
		return nil
	}
	if len(items) < least {
		c.fail(at+"/"+key, "no less than %d items allowed", least)
	}
	if len(items) > most {
		c.fail(at+"/"+key, "no more than %d items allowed", most)
	}
	return items
}

// objects calls check for each item of a list that is an object.
func (c *checker) objects(items []any, at string, check func(o object, at string)) {
	for i, item := range items {
		where := fmt.Sprintf("%s/%d", at, i)
		if o, ok := item.(object); ok {
			check(o, where)
		} else {
			c.fail(where, "must be an object")
		}
	}
}

func (c *checker) boolean(o object, at, key string) {
	if v, present := o[key]; present {
		if _, ok := v.(bool); !ok {
			c.fail(at+"/"+key, "must be a boolean")
		}
	}
}

func (c *checker) oneOf(o object, at, key string, required bool, allowed ...string) string {
	v, present := o[key]
	if !present {
		if required {
			c.fail(at, "missing required field: %s", key)
		}
		return ""
	}
	text, _ := v.(string)
	if !slices.Contains(allowed, text) {
		c.fail(at+"/"+key, "must be a valid enum value: %s", strings.Join(allowed, ", "))
	}
	return text
}

// whole checks a property that must be a whole number from least to most.
func (c *checker) whole(o object, at, key string, least, most int) {
	v, present := o[key]
	if !present {
		return
	}
	n, ok := v.(float64)
	if !ok || n != float64(int(n)) || int(n) < least || int(n) > most {
		c.fail(at+"/"+key, "must be a whole number from %d to %d", least, most)
	}
}
