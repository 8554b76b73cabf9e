/**
 * Bytes read from the beginning of a file: if the first number is not enough, the next. Pi 1.5 reads at most 1 MiB too.
 */
export const HEAD_SIZES = [512, 1 << 14, 1 << 20] as const
