"""
The same mapping as format `messages`, as one would write it in Python in an afternoon: every file read line by line,
json.loads, the branch to the last entry, its messages mapped, json.dumps. It knows nothing of compactions that were
answered, of forks, of duplicates, splits or damage.

Usage: messages.py SESSIONS OUT
"""
import json
import os
import sys


def text_of(content):
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block.get("type") == "text")


def to_message(message):
    role = message["role"]
    if role == "user":
        return {"role": "user", "content": text_of(message["content"])}
    if role == "toolResult":
        return {
            "role": "tool",
            "tool_call_id": message["toolCallId"],
            "name": message["toolName"],
            "content": text_of(message["content"]),
        }
    if role != "assistant" or message.get("stopReason") in ("error", "aborted"):
        return None
    blocks = message["content"]
    out = {"role": "assistant", "content": "".join(b["text"] for b in blocks if b["type"] == "text")}
    thinking = "\n".join(b["thinking"] for b in blocks if b["type"] == "thinking")
    if thinking:
        out["reasoning_content"] = thinking
    calls = [
        {"id": b["id"], "type": "function", "function": {"name": b["name"], "arguments": b["arguments"]}}
        for b in blocks
        if b["type"] == "toolCall"
    ]
    if calls:
        out["tool_calls"] = calls
    return out


def main(sessions, out):
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "train.jsonl"), "w", encoding="utf-8") as target:
        for name in sorted(os.listdir(sessions)):
            header, entries, last = None, {}, None
            with open(os.path.join(sessions, name), encoding="utf-8") as lines:
                for line in lines:
                    entry = json.loads(line)
                    if entry["type"] == "session":
                        header = entry
                        continue
                    entries[entry["id"]] = entry
                    last = entry
            branch = []
            while last is not None:
                branch.append(last)
                last = entries.get(last["parentId"])
            messages = []
            for entry in reversed(branch):
                if entry["type"] == "message":
                    message = to_message(entry["message"])
                    if message is not None:
                        messages.append(message)
            while messages and messages[-1]["role"] != "assistant":
                messages.pop()
            if messages:
                metadata = {"session_id": header["id"], "cwd": header["cwd"]}
                target.write(json.dumps({"messages": messages, "metadata": metadata}, ensure_ascii=False) + "\n")


main(sys.argv[1], sys.argv[2])
