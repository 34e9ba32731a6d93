package voice

import "testing"

func TestATerminalMayShowWhatIsTypedNext(t *testing.T) {
	t.Parallel()
	const fine = `  Rolled back.
    [proposed] p1-s1  Scale llama from 2 to 3 replicas
      use instead: vllm:kv_cache_usage_perc >= 0.9

  to decide: vllm-medic incidents approve inc-1 STEP --digest 0a1b
Approved p1-s1. inc-1 (llama) is now applying; vllm-medic incidents show inc-1 shows progress.
  now: apply p1-s1 since 03:10 (write)
`
	Check(t, "what is typed", Terminal(fine, "kv_usage"))
	for _, text := range []string{
		"  true   kv_usage: 97%", "  true   signals.kv > 0.9", "KV cache 97 %",
	} {
		if len(Terminal(text, "kv_usage")) == 0 {
			t.Errorf("%q passes", text)
		}
	}
}

func TestAPageIsReadAsAPersonSeesIt(t *testing.T) {
	t.Parallel()
	const fine = `<style>a { b: c }
</style><p title="p1-s1">KV cache <b>97%</b></p><span class="soft id">p1-s1, 03:10</span>
<p>uses <code>vllm:kv_usage &gt;= 1</code></p><pre>- kv_usage
+ p1-s1</pre><pre class="copy">a &amp;&amp; b</pre>`
	Check(t, "the page", Page(fine, "kv_usage"))
	for text, line := range map[string]int{
		"<p>\n<td>kv_usage</td></p>":                         2,
		"<pre>\n\n</pre><p>a &amp;&amp; b</p>":               3,
		`<pre class="banner">A person must look.</pre>`:      1,
		"<code>x</code> 97<b> %</b>":                         1,
		"<td>ttft</td><td>target</td><td>x &gt;= 2 s</td>\n": 1,
	} {
		if found := Page(text, "kv_usage"); len(found) != 1 || found[0].Line != line {
			t.Errorf("%q: %v", text, found)
		}
	}
}
