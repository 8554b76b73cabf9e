/**
 * Pi's built-in tools, as Pi 0.78.0 (MIT) declares them to the model (`createBashToolDefinition` etc.). Sessions of that Pi
 * do not contain them. ToolSchemas.test.ts compares them with the real Pi.
 */
import { type ToolDefinition } from "./ToolDefinition.ts"

const string = (description: string) => ({ type: "string", description })
const number = (description: string) => ({ type: "number", description })
const boolean = (description: string) => ({ type: "boolean", description })

const BASH: ToolDefinition = {
  name: "bash",
  description:
    "Execute a bash command in the current working directory. Returns stdout and stderr. Output is truncated to last 2000 lines or 50KB (whichever is hit first). If truncated, full output is saved to a temp file. Optionally provide a timeout in seconds.",
  parameters: {
    type: "object",
    required: ["command"],
    properties: {
      command: string("Bash command to execute"),
      timeout: number("Timeout in seconds (optional, no default timeout)")
    }
  }
}

const READ: ToolDefinition = {
  name: "read",
  description:
    "Read the contents of a file. Supports text files and images (jpg, png, gif, webp). Images are sent as attachments. For text files, output is truncated to 2000 lines or 50KB (whichever is hit first). Use offset/limit for large files. When you need the full file, continue with offset until complete.",
  parameters: {
    type: "object",
    required: ["path"],
    properties: {
      path: string("Path to the file to read (relative or absolute)"),
      offset: number("Line number to start reading from (1-indexed)"),
      limit: number("Maximum number of lines to read")
    }
  }
}

const EDIT: ToolDefinition = {
  name: "edit",
  description:
    "Edit a single file using exact text replacement. Every edits[].oldText must match a unique, non-overlapping region of the original file. If two changes affect the same block or nearby lines, merge them into one edit instead of emitting overlapping edits. Do not include large unchanged regions just to connect distant changes.",
  parameters: {
    type: "object",
    required: ["path", "edits"],
    properties: {
      path: string("Path to the file to edit (relative or absolute)"),
      edits: {
        type: "array",
        items: {
          type: "object",
          required: ["oldText", "newText"],
          properties: {
            oldText: string(
              "Exact text for one targeted replacement. It must be unique in the original file and must not overlap with any other edits[].oldText in the same call."
            ),
            newText: string("Replacement text for this targeted edit.")
          },
          additionalProperties: false
        },
        description:
          "One or more targeted replacements. Each edit is matched against the original file, not incrementally. Do not include overlapping or nested edits. If two changes touch the same block or nearby lines, merge them into one edit instead."
      }
    },
    additionalProperties: false
  }
}

const WRITE: ToolDefinition = {
  name: "write",
  description:
    "Write content to a file. Creates the file if it doesn't exist, overwrites if it does. Automatically creates parent directories.",
  parameters: {
    type: "object",
    required: ["path", "content"],
    properties: {
      path: string("Path to the file to write (relative or absolute)"),
      content: string("Content to write to the file")
    }
  }
}

const GREP: ToolDefinition = {
  name: "grep",
  description:
    "Search file contents for a pattern. Returns matching lines with file paths and line numbers. Respects .gitignore. Output is truncated to 100 matches or 50KB (whichever is hit first). Long lines are truncated to 500 chars.",
  parameters: {
    type: "object",
    required: ["pattern"],
    properties: {
      pattern: string("Search pattern (regex or literal string)"),
      path: string("Directory or file to search (default: current directory)"),
      glob: string("Filter files by glob pattern, e.g. '*.ts' or '**/*.spec.ts'"),
      ignoreCase: boolean("Case-insensitive search (default: false)"),
      literal: boolean("Treat pattern as literal string instead of regex (default: false)"),
      context: number("Number of lines to show before and after each match (default: 0)"),
      limit: number("Maximum number of matches to return (default: 100)")
    }
  }
}

const FIND: ToolDefinition = {
  name: "find",
  description:
    "Search for files by glob pattern. Returns matching file paths relative to the search directory. Respects .gitignore. Output is truncated to 1000 results or 50KB (whichever is hit first).",
  parameters: {
    type: "object",
    required: ["pattern"],
    properties: {
      pattern: string("Glob pattern to match files, e.g. '*.ts', '**/*.json', or 'src/**/*.spec.ts'"),
      path: string("Directory to search in (default: current directory)"),
      limit: number("Maximum number of results (default: 1000)")
    }
  }
}

const LS: ToolDefinition = {
  name: "ls",
  description:
    "List directory contents. Returns entries sorted alphabetically, with '/' suffix for directories. Includes dotfiles. Output is truncated to 500 entries or 50KB (whichever is hit first).",
  parameters: {
    type: "object",
    properties: {
      path: string("Directory to list (default: current directory)"),
      limit: number("Maximum number of entries to return (default: 500)")
    }
  }
}

/** Pi's built-in tools by name. */
export const BUILTIN_TOOLS: ReadonlyMap<string, ToolDefinition> = new Map(
  [BASH, READ, EDIT, WRITE, GREP, FIND, LS].map((tool) => [tool.name, tool])
)
