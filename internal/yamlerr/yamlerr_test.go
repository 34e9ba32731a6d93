package yamlerr

import (
	"fmt"
	"reflect"
	"testing"

	"go.yaml.in/yaml/v4"
)

type word string

type item struct {
	Name   string            `yaml:"name"`
	Count  int               `yaml:"count,omitempty"`
	Labels map[string]string `yaml:"labels"`
	Kind   word              `yaml:"kind"`
	hidden string            //nolint:unused // a key that YAML does not know: it must not be named
}

type document struct {
	Items []item   `yaml:"items"`
	Words []string `yaml:"words"`
	Yes   bool     `yaml:"yes"`
	One   *item    `yaml:"one"`
	Share float64  `yaml:"share"`
}

func TestTheLibrarysErrorsAreSaidWithoutItsTypes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                `1:1: the file is empty`,
		"# only a comment\n":              `1:1: the file is empty`,
		"itms: []":                        `1:1: there is no field "itms" here; did you mean "items"?`,
		"frobnicate: 1":                   `1:1: there is no field "frobnicate" here; there are items, words, yes, one, share`,
		"items: [{nam: x}]":               `1:10: there is no field "nam" here; did you mean "name"?`,
		"my items: []":                    `1:1: there is no field "my items" here; there are items, words, yes, one, share`,
		"items: [{the name: x}]":          `1:10: there is no field "the name" here; there are name, count, labels, kind`,
		"one: {hidden: x}":                `1:7: there is no field "hidden" here; there are name, count, labels, kind`,
		"items: {name: x}":                `1:8: a list (its items begin with "- ") is wanted here, not a mapping`,
		"items: s3cr3t":                   `1:8: a list (its items begin with "- ") is wanted here, not a single value`,
		"one: s3cr3t":                     `1:6: a mapping is wanted here, not a single value`,
		"items: [{labels: s3cr3t}]":       `1:18: a mapping is wanted here, not a single value`,
		"items: [{name: [x]}]":            `1:16: a text is wanted here, not a list`,
		"items: [{kind: {a: b}}]":         `1:16: a text is wanted here, not a mapping`,
		"items: [{count: many}]":          `1:17: a whole number is wanted here, not "many"`,
		"items: [{count: 2.5}]":           `1:17: a whole number is wanted here, not "2.5"`,
		"share: much":                     `1:8: a number is wanted here, not "much"`,
		"yes: maybe":                      `1:6: true or false is wanted here, not "maybe"`,
		"- a":                             `1:1: a mapping is wanted here, not a list`,
		"yes: true\nyes: false":           `2:1: the field "yes" is given twice, first on line 1`,
		"yes: true\n---\nyes: false":      `1:1: the file holds several documents (---); give each a file of its own`,
		"items:\n\t- name: x":             `2:1: there is a tab; YAML is indented with spaces only`,
		"items:\n  - name: x\n\tcount: 1": `3:1: there is a tab; YAML is indented with spaces only`,
		"words: [a]\nyes: @x":             `2:6: a value cannot begin with '@'; put it in quotes`,
		"one: name: x":                    `1:10: ": " in the middle of a value; indent the line like its neighbors, or put the value in quotes`,
		"yes: true\n  words: []":          `2:8: ": " in the middle of a value; indent the line like its neighbors, or put the value in quotes`,
		"items:\n  - name: x\n yes: true": `3:2: the indentation fits none of the lines above`,
		"words: [a,\nb\n":                 `3:1: did not find expected ',' or ']', in what begins on line 1`,
	} {
		var doc document
		err := yaml.Load([]byte(in), &doc, yaml.WithKnownFields())
		if err == nil {
			t.Errorf("%q is accepted", in)
			continue
		}
		ps := Problems(err, []byte(in), reflect.TypeFor[document]())
		if got := fmt.Sprintf("%d:%d: %s", ps[0].Line, ps[0].Col, ps[0].Text); got != want || len(ps) != 1 {
			t.Errorf("%q:\n got %s (%d)\nwant %s", in, got, len(ps), want)
		}
	}
}

func TestAnErrorWithoutATypeStillHasWords(t *testing.T) {
	t.Parallel()
	var doc document
	in := []byte("items: [{nam: x}]")
	if ps := Problems(yaml.Load(in, &doc, yaml.WithKnownFields()), in); len(ps) != 1 || ps[0].Text != `there is no field "nam" here` {
		t.Errorf("got %v", ps)
	}
}
