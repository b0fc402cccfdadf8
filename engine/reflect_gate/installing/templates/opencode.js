// Written by `reflect-gate init opencode`; `reflect-gate uninstall opencode` takes it out.
// Hands OpenCode's events to reflect-gate on standard input, and a lesson to the system prompt. It never throws.
import { spawn } from "node:child_process"
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const COMMAND = @COMMAND@
const MILLISECONDS = 5000
const COLLECTED = new Set(["session.created", "session.error", "session.idle", "session.compacted", "session.deleted"])
const MOST = 256

// OpenCode does not wait for these: the payload is on the disk before this returns, and the process outlives OpenCode.
function collect(payload) {
  let folder
  const tidy = () => rmSync(folder, { recursive: true, force: true })
  try {
    folder = mkdtempSync(join(tmpdir(), "reflect-gate-"))
    const file = join(folder, "event.json")
    writeFileSync(file, JSON.stringify(payload), { mode: 0o600 })
    const input = openSync(file, "r")
    const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: [input, "ignore", "ignore"], detached: true, windowsHide: true })
    closeSync(input)
    child.on("error", tidy)
    child.on("exit", tidy)
    child.unref()
    // The process has the file open; elsewhere than on Windows its name may go at once.
    if (process.platform !== "win32") tidy()
  } catch {
    if (folder) tidy()
  }
}

function ask(payload) {
  return new Promise((resolve) => {
    let said = ""
    let child
    try {
      child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
    } catch {
      resolve("")
      return
    }
    const timer = setTimeout(() => {
      child.kill()
      resolve("")
    }, MILLISECONDS)
    const done = (text) => {
      clearTimeout(timer)
      resolve(text)
    }
    child.on("error", () => done(""))
    child.stdin.on("error", () => {})
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (part) => (said += part))
    child.on("close", () => {
      try {
        done(said ? String(JSON.parse(said).context ?? "") : "")
      } catch {
        done("")
      }
    })
    child.stdin.end(JSON.stringify(payload))
  })
}

function remember(map, key, value) {
  map.set(key, value)
  if (map.size > MOST) map.delete(map.keys().next().value)
}

export const ReflectGate = async ({ directory }) => {
  const lessons = new Map()
  const calls = new Map()
  let latest = ""
  return {
    "chat.message": async (input, output) => {
      latest = input.sessionID
      const context = await ask({ hook: "chat.message", directory, input, output })
      if (context) remember(lessons, input.sessionID, [...(lessons.get(input.sessionID) ?? []), context])
    },
    // Runs before every call of the model, whose system prompt is made anew each time: no process is started for it.
    "experimental.chat.system.transform": async (input, output) => {
      for (const context of lessons.get(input?.sessionID ?? latest) ?? []) output.system.push(context)
    },
    "tool.execute.before": async (input, output) => {
      remember(calls, input.callID, output?.args)
    },
    "tool.execute.after": async (input, output) => {
      const args = input.args ?? calls.get(input.callID)
      calls.delete(input.callID)
      collect({ hook: "tool.execute.after", directory, input: { ...input, args }, output })
    },
    event: async ({ event }) => {
      if (COLLECTED.has(event?.type)) collect({ hook: event.type, directory, event })
    },
  }
}
