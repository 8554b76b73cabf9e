/** How many first bytes of a file are read, and how many where those are not enough. Pi 1.5 looks no further either. */
export const HEAD_SIZES = [512, 1 << 14, 1 << 20] as const
