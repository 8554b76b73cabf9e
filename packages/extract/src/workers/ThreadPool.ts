/** A number of threads, and the jobs that wait for them. Threads start when there are jobs; one that stops is replaced. */
import { type Job, type ThreadStart, WorkerThread } from "./WorkerThread.ts"

export class ThreadPool {
  readonly #start: ThreadStart
  readonly #count: number
  readonly #threads = new Set<WorkerThread>()
  readonly #waiting: Array<Job> = []

  constructor(start: ThreadStart, count: number) {
    this.#start = start
    this.#count = count
  }

  submit(job: Job): void {
    this.#waiting.push(job)
    this.#dispatch()
  }

  /** Drops a job that is still waiting. */
  cancel(job: Job): void {
    const at = this.#waiting.indexOf(job)
    if (at >= 0) this.#waiting.splice(at, 1)
  }

  end(): Promise<unknown> {
    const threads = [...this.#threads]
    this.#threads.clear()
    return Promise.all(threads.map((thread) => thread.end()))
  }

  /** Sends jobs to the threads with the fewest jobs. */
  #dispatch(): void {
    while (this.#waiting.length > 0) {
      let best: WorkerThread | undefined
      for (const thread of this.#threads) {
        if (thread.hasRoom && (best === undefined || thread.load < best.load)) best = thread
      }
      if ((best === undefined || best.load > 0) && this.#threads.size < this.#count) best = this.#add()
      const job = best === undefined ? undefined : this.#waiting.shift()
      if (best === undefined || job === undefined) return
      best.send(job)
    }
  }

  #add(): WorkerThread {
    const thread = new WorkerThread(this.#start, {
      onAnswer: () => this.#dispatch(),
      onStop: (returned) => {
        // The pool itself has ended its threads.
        if (!this.#threads.delete(thread)) return
        // Not awaited: it may be in a call of the system that cannot be interrupted.
        void thread.end()
        this.#waiting.unshift(...returned)
        this.#dispatch()
      }
    })
    this.#threads.add(thread)
    return thread
  }
}
