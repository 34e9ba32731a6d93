package admission

import (
	"fmt"
	"strings"

	"github.com/vllm-medic/vllm-medic/actions/live"
)

// Argument is the shape of one flag on the command line of a container: its value is another one, or the flag was added
// at the end, or taken away. flag is its name with dashes and without those that it begins with.
func Argument(flag string) Shape {
	s := Shape{
		ID: snake(flag), Setting: flag, Field: "--" + flag + " in the arguments of the pool's container", InContainer: true,
	}
	// a replaces the names of a shape's own variables, and the patterns of its flag in both spellings.
	a := func(text string) string {
		either := "--" + strings.ReplaceAll(flag, "-", "[-_]")
		return strings.NewReplacer("@", "variables."+s.ID, "<flag>", either, "<FLAG>", "--"+flag,
			"<absent>", live.UndoAbsent).Replace(text)
	}
	add := func(name, expression string) {
		s.Variables = append(s.Variables, Variable{s.ID + name, a(expression)})
	}
	s.Variables = append(s.Variables, noted(s))
	add("_container", `variables.key in @_containers ? @_containers[variables.key] : ""`)
	for _, of := range []struct{ object, suffix string }{{"object", ""}, {"oldObject", "_was"}} {
		add("_box"+of.suffix, of.object+`.spec.template.spec.containers.filter(c, c.name == @_container)`)
		for _, list := range []string{"command", "args"} {
			add("_"+list+of.suffix, fmt.Sprintf(`has(@_box%[1]s[0].%[2]s) ? @_box%[1]s[0].%[2]s : []`, of.suffix, list))
		}
		add("_words"+of.suffix, fmt.Sprintf(`@_command%[1]s + @_args%[1]s`, of.suffix))
	}
	add("_same", allOf(
		except("object.spec", "oldObject.spec", "template"),
		except("object.spec.template", "oldObject.spec.template", "spec"),
		except("object.spec.template.spec", "oldObject.spec.template.spec", "containers"),
		`object.spec.template.spec.containers.map(c, c.name) == oldObject.spec.template.spec.containers.map(c, c.name)`,
		`object.spec.template.spec.containers.filter(c, c.name != @_container)`+
			` == oldObject.spec.template.spec.containers.filter(c, c.name != @_container)`,
		`size(@_box) == 1 && size(@_box_was) == 1`,
		except("@_box[0]", "@_box_was[0]", "args", "command"),
		fmt.Sprintf(`size(@_words) <= %[1]d && size(@_words_was) <= %[1]d`, mostWords),
	))
	add("_changed", `size(@_command) == size(@_command_was) && size(@_args) == size(@_args_was)`+
		` ? variables.index.filter(i, i < size(@_words) && @_words[i] != @_words_was[i]) : []`)
	add("_pairs", `variables.index.filter(i, i + 1 < size(@_words_was) && @_words_was[i].matches("^<flag>$"))`)
	add("_set", setting)
	add("_added", adding)
	add("_removed", removing)
	add("_removed_pair", removingPair)
	add("_step", "size(@_set) > 0 ? @_set : size(@_added) > 0 ? @_added : "+
		"size(@_removed) > 0 ? @_removed : @_removed_pair")
	s.Variables = append(s.Variables, Variable{s.ID, allOf(
		a("@_same"), a("size(@_step) == 2"), turns(s, a("@_step[0]"), a("@_step[1]"), ""),
	)})
	return s
}

// What the command line has become, each as the new value and the one before: an empty list where it is something
// else. The bot writes a flag behind an equals sign, and otherwise keeps the spelling that is there.
const (
	setting = `size(@_words) != size(@_words_was) || size(@_command) != size(@_command_was) || size(@_changed) > 1 ? []
: size(@_changed) == 0 ? [@_undo, @_undo]
: @_words_was[@_changed[0]].matches("^<flag>=")
  && @_words[@_changed[0]].startsWith(@_words_was[@_changed[0]].split("=")[0] + "=")
  ? [@_words[@_changed[0]], @_words_was[@_changed[0]]].map(w, w.substring(w.indexOf("=") + 1))
: @_changed[0] > 0 && @_words_was[@_changed[0] - 1].matches("^<flag>$")
  && !@_words_was[@_changed[0]].startsWith("--")
  ? [string(@_words[@_changed[0]]), string(@_words_was[@_changed[0]])]
: []`
	adding = `size(@_words) == size(@_words_was) + 1 && @_words[size(@_words) - 1].startsWith("<FLAG>=")
&& @_words_was + [@_words[size(@_words) - 1]] == @_words
&& !@_words_was.exists(w, w.matches("^<flag>(=|$)"))
&& (size(@_args_was) > 0 ? @_command == @_command_was : size(@_command_was) > 0 && size(@_args) == 0)
? [@_words[size(@_words) - 1].substring(size("<FLAG>=")), "<absent>"] : []`
	removing = `size(@_words) + 1 == size(@_words_was)
&& @_command == @_command_was.filter(w, !w.matches("^<flag>="))
&& @_args == @_args_was.filter(w, !w.matches("^<flag>="))
? ["<absent>"] + @_words_was.filter(w, w.matches("^<flag>=")).map(w, w.substring(w.indexOf("=") + 1)) : []`
	removingPair = `size(@_words) + 2 == size(@_words_was) && size(@_pairs) == 1
&& variables.index.all(j, j >= size(@_words) || @_words[j] == @_words_was[j < @_pairs[0] ? j : j + 2])
&& (@_pairs[0] + 1 < size(@_command_was) ? @_args == @_args_was : @_command == @_command_was)
? ["<absent>", string(@_words_was[@_pairs[0] + 1])] : []`
)
