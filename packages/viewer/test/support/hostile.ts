/** A hostile transcript: markup, event handlers, script URLs, escape sequences and bidirectional text. */
const TIME = "2026-01-05T10:00:00.000Z"

/** If one of these became markup, it would set `window.ran`, open a dialog or send a request. */
export const PAYLOADS: ReadonlyArray<string> = [
  "<script>window.ran = 1; alert(1)</script>",
  "</script><script>window.ran = 2</script>",
  '<img src=x onerror="window.ran = 3">',
  '<svg onload="window.ran = 4"><animate onbegin=alert(4) attributeName=x dur=1s></svg>',
  '<a href="javascript:window.ran = 5">click</a>',
  "javascript:window.ran=6",
  '<iframe srcdoc="<script>parent.ran = 7</script>"></iframe>',
  "<body onload=alert(8)>",
  "{{constructor.constructor('window.ran = 9')()}}",
  "<!--<script>",
  "]]><script>window.ran = 10</script>",
  "<style>@import 'http://evil.example/x.css'; * { display: none }</style>",
  "<link rel=stylesheet href=http://evil.example/y.css>",
  '<meta http-equiv=refresh content="0;url=http://evil.example/">',
  "<base href=http://evil.example/>",
  "<form action=http://evil.example/><input autofocus onfocus=alert(11)></form>",
  "![x](http://evil.example/z.png)",
  "\u001b]8;;javascript:alert(12)\u0007link\u001b]8;;\u0007",
  "\u001b[31mred\u001b[0m \u001b[38;2;1;2;3;url(http://evil.example)mx\u001b[0m \u001b[?1049h\u001b[2J",
  "\u202egnp.exe\u202c \u2066isolated\u2069 \u200bzero width",
  "__proto__",
  "\u2028\u2029\u0000\u0007"
]

const all = PAYLOADS.join("\n")

/** A session with all payloads in every field that holds text. */
export const lines = (cwd = `/srv/${PAYLOADS[0]}`): ReadonlyArray<object> => {
  const entries: ReadonlyArray<object> = [
    { type: "session_info", name: all },
    { type: "message", message: { role: "user", content: all } },
    {
      type: "message",
      message: {
        role: "assistant",
        provider: all,
        model: all,
        stopReason: all,
        errorMessage: all,
        content: [
          { type: "text", text: all },
          { type: "thinking", thinking: all },
          { type: "toolCall", id: all, name: all, arguments: { command: all, [all]: all, __proto__: { x: all } } },
          {
            type: "image",
            mimeType: "image/svg+xml",
            data: btoa("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>")
          },
          { type: "image", mimeType: 'image/png" onerror="window.ran=20', data: "AAAA" },
          { type: "image", mimeType: "image/png", data: '" onerror="window.ran=21' },
          { type: all, text: all }
        ]
      }
    },
    {
      type: "message",
      message: {
        role: "toolResult",
        toolCallId: all,
        toolName: all,
        isError: false,
        content: [{ type: "text", text: all }],
        details: { diff: `+1 ${all}`, [all]: all }
      }
    },
    {
      type: "message",
      message: { role: "bashExecution", command: all, output: all, exitCode: 1, fullOutputPath: all }
    },
    { type: "custom_message", customType: all, content: all, display: true, details: all },
    { type: "custom", customType: all, data: all },
    { type: "compaction", summary: all, firstKeptEntryId: all, tokensBefore: 1 },
    { type: "branch_summary", fromId: all, summary: all },
    { type: "model_change", provider: all, modelId: all },
    { type: "message", message: { role: all, content: all } },
    { type: all, anything: all }
  ]
  const linked = entries.map((entry, at) => ({
    ...entry,
    // Ids are hostile too, except those that the test uses.
    id: at % 3 === 2 ? `${at}${PAYLOADS[2]}` : `e${at}`,
    parentId: at === 0 ? null : (at - 1) % 3 === 2 ? `${at - 1}${PAYLOADS[2]}` : `e${at - 1}`,
    timestamp: at === 4 ? all : TIME
  }))
  return [
    {
      type: "session",
      version: 3,
      id: `s"><img src=x onerror=alert(9)>`,
      timestamp: TIME,
      cwd,
      harness: all,
      parentSession: all
    },
    ...linked,
    { type: "label", id: "label", parentId: linked.at(-1)?.id, timestamp: TIME, targetId: "e1", label: all }
  ]
}
