// SPDX-License-Identifier: MIT
// Tells the launches of a program of `weft lab` that its streams, events and waits order (CUDA
// Programming Guide, "Streams" and "Events"):
//
//   what is submitted to one stream, one behind the other;
//   work of the default stream, with that of all streams that are not cudaStreamNonBlocking;
//   what a stream does behind cudaStreamWaitEvent, with what stood before the event;
//   what is submitted after the host has waited, with what it has waited for.
//
// host-cuda runs a launch when it is submitted, so a missing order shows in no result. An access of
// an earlier launch counts as one of the same time where nothing of the above orders the two.
#pragma once

#include <string>

#include "host_cuda/memory/shadow.h"

namespace weft::host_cuda {

// Streams and events by their handles; a null pointer is the default stream.
void stream_made(const void* stream, bool blocking);
void stream_works(const void* stream);  // a copy, a fill or a launch is submitted
void event_follows(const void* event, const void* stream);
void stream_follows(const void* stream, const void* event);
void host_follows_stream(const void* stream);
void host_follows_event(const void* event);
void host_follows_all();

// The grids that run from now on are of this launch, which `text` describes.
void launch_begins(const void* stream, const std::string& text);
// They are ordered behind everything, and everything behind them: those of a graph.
void everything_is_ordered();

// A grid begins with this segment. Returns the first segment that is not ordered before it.
Segment grid_begins(Segment first);
// Is this segment, from before the running grid's, of a launch that nothing orders before?
bool at_the_same_time(Segment segment);
std::string launch_of(Segment segment);
void forget_launches();  // their segments have lost their meaning

}  // namespace weft::host_cuda
