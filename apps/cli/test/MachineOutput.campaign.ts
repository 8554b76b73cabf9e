/** The recorded output of every command and of the shards of every format. */
import "./MachineOutput.test.ts"
