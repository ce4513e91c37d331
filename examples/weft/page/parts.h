// SPDX-License-Identifier: MIT
// The pages on which a network reads what is drawn, and the parts that they share.
#pragma once

namespace weft::cli {

// Made by CMake from the files of this folder, of serve/ and of export/. The head of
// page.js says what a page needs besides.
extern const char* const kPageIcon;  // an element of the head
extern const char* const kPageCss;
extern const char* const kPageTop;  // the pad, the answer and what the network sees
extern const char* const kPageJs;
extern const char* const kServeHtml;
extern const char* const kServeJs;
extern const char* const kExportHtml;
extern const char* const kExportJs;

}  // namespace weft::cli
