/** Times in this machine's time zone. */

const two = (value: number): string => String(value).padStart(2, "0")

/** `2026-02-25 08:30` */
export const minutes = (ms: number): string => {
  const date = new Date(ms)
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`
}

/** `2026-02-25 08:30:05` */
export const seconds = (ms: number): string => `${minutes(ms)}:${two(new Date(ms).getSeconds())}`
