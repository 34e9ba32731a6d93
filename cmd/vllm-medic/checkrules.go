package main

import (
	"io"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/app"
)

// printRules tells about single alert rules: first those that can never fire, each with the expression to write instead
// on lines that can be copied.
func printRules(w io.Writer, rules []app.RuleFinding) {
	head := "\nAlert rules that can never fire:\n"
	for _, r := range rules {
		if !r.Never {
			continue
		}
		say(w, "%s\n  %s: %s.\n", head, ruleName(r), sentence(r.Why))
		head = ""
		switch {
		case r.Instead == "" && len(r.About) > 0:
			say(w, "  There is no replacement: %s.\n", sentence(r.About))
		case r.Instead == "":
			say(w, "  No replacement is known.\n")
		default:
			say(w, "  Use instead%s:\n\n      %s\n", aside(r.About), strings.ReplaceAll(r.Instead, "\n", "\n      "))
			for i, note := range r.Notes {
				say(w, "%s  Warning: %s.\n", blank(i), note)
			}
		}
	}
	head = "\nAlert rules that may not do what they seem to:\n\n"
	for _, r := range rules {
		if r.Never {
			continue
		}
		for _, note := range r.Notes {
			say(w, "%s  %s: %s.\n", head, ruleName(r), note)
			head = ""
		}
	}
}

// blank sets the first line after a copied expression apart.
func blank(line int) string {
	if line == 0 {
		return "\n"
	}
	return ""
}

func ruleName(r app.RuleFinding) string { return cell(r.Name) + " (group " + cell(r.Group) + ")" }

func sentence(parts []string) string { return cell(strings.Join(parts, "; ")) }

func aside(about []string) string {
	if len(about) == 0 {
		return ""
	}
	return " (" + sentence(about) + ")"
}
