import IngestCommands
import SystemIO

FileSystem.occupyStandardDescriptors()
ThisProcess.ignoreBrokenPipes()
let context = try CommandContext.ofProcess()
let status = await IngestProgram.run(ProcessArguments.all, context)
ThisProcess.exitNow(status.rawValue)
