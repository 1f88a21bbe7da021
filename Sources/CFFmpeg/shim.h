// FFmpeg's libraries for Swift: macros as functions, and every difference between the versions 5.1 to 8 (and later),
// so that no Swift file knows which one it is linked with.
#ifndef INGEST_CFFMPEG_SHIM_H
#define INGEST_CFFMPEG_SHIM_H

#include <libavcodec/avcodec.h>
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libavutil/channel_layout.h>
#include <libavutil/display.h>
#include <libavutil/log.h>
#include <libavutil/mastering_display_metadata.h>
#include <libavutil/mathematics.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <string.h>

static inline int ingest_ff_again(void) { return AVERROR(EAGAIN); }
static inline int ingest_ff_end(void) { return AVERROR_EOF; }
static inline int ingest_ff_invalid_data(void) { return AVERROR_INVALIDDATA; }
static inline int ingest_ff_out_of_memory(void) { return AVERROR(ENOMEM); }
static inline int ingest_ff_unknown_codec(void) { return AVERROR_DECODER_NOT_FOUND; }

/// The errno behind an error code, or 0 if it is one of FFmpeg's own.
static inline int ingest_ff_errno(int code) { return code < 0 && code > -4096 ? AVUNERROR(code) : 0; }

static inline int64_t ingest_ff_no_timestamp(void) { return AV_NOPTS_VALUE; }

// MARK: Side data of streams: an array of AVStream up to 6.0, of its codec parameters since.

#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
static inline const uint8_t *_Nullable ingest_ff_stream_side_data(const AVStream *_Nonnull stream,
                                                                  enum AVPacketSideDataType type,
                                                                  size_t *_Nonnull size) {
    const AVPacketSideData *data =
        av_packet_side_data_get(stream->codecpar->coded_side_data, stream->codecpar->nb_coded_side_data, type);
    *size = data ? data->size : 0;
    return data ? data->data : NULL;
}

static inline uint8_t *_Nullable ingest_ff_new_stream_side_data(AVStream *_Nonnull stream,
                                                                enum AVPacketSideDataType type, size_t size) {
    AVPacketSideData *data = av_packet_side_data_new(&stream->codecpar->coded_side_data,
                                                     &stream->codecpar->nb_coded_side_data, type, size, 0);
    return data ? data->data : NULL;
}

static inline void ingest_ff_remove_stream_side_data(AVStream *_Nonnull stream, enum AVPacketSideDataType type) {
    av_packet_side_data_remove(stream->codecpar->coded_side_data, &stream->codecpar->nb_coded_side_data, type);
}
#else
static inline const uint8_t *_Nullable ingest_ff_stream_side_data(const AVStream *_Nonnull stream,
                                                                  enum AVPacketSideDataType type,
                                                                  size_t *_Nonnull size) {
    return av_stream_get_side_data(stream, type, size);
}

static inline uint8_t *_Nullable ingest_ff_new_stream_side_data(AVStream *_Nonnull stream,
                                                                enum AVPacketSideDataType type, size_t size) {
    return av_stream_new_side_data(stream, type, size);
}

/// Nothing is there that has not been added: copied codec parameters bring no side data.
static inline void ingest_ff_remove_stream_side_data(AVStream *_Nonnull stream, enum AVPacketSideDataType type) {
    (void)stream;
    (void)type;
}
#endif

// MARK: Frames: fields became flags in 6.1.

#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 29, 100)
static inline int ingest_ff_frame_is_interlaced(const AVFrame *_Nonnull frame) {
    return (frame->flags & AV_FRAME_FLAG_INTERLACED) != 0;
}
static inline int ingest_ff_frame_is_top_first(const AVFrame *_Nonnull frame) {
    return (frame->flags & AV_FRAME_FLAG_TOP_FIELD_FIRST) != 0;
}
#else
static inline int ingest_ff_frame_is_interlaced(const AVFrame *_Nonnull frame) { return frame->interlaced_frame; }
static inline int ingest_ff_frame_is_top_first(const AVFrame *_Nonnull frame) { return frame->top_field_first; }
#endif

#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 30, 100)
static inline int64_t ingest_ff_frame_duration(const AVFrame *_Nonnull frame) { return frame->duration; }
#else
static inline int64_t ingest_ff_frame_duration(const AVFrame *_Nonnull frame) { return frame->pkt_duration; }
#endif

/// Whether the decoder says that the picture or sound is not as it was recorded.
static inline int ingest_ff_frame_is_damaged(const AVFrame *_Nonnull frame) {
    return (frame->flags & AV_FRAME_FLAG_CORRUPT) != 0 || frame->decode_error_flags != 0;
}

/// The encoder has to decide the kind of each frame; the decoder's choice must not stay in it.
static inline void ingest_ff_forget_picture_type(AVFrame *_Nonnull frame) {
    frame->pict_type = AV_PICTURE_TYPE_NONE;
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 29, 100)
    frame->flags &= ~AV_FRAME_FLAG_KEY;
#else
    frame->key_frame = 0;
#endif
}

// MARK: Names that moved.

#ifdef AV_PROFILE_AAC_LOW
static inline int ingest_ff_profile_aac_low(void) { return AV_PROFILE_AAC_LOW; }
#else
static inline int ingest_ff_profile_aac_low(void) { return FF_PROFILE_AAC_LOW; }
#endif

/// Whether a container has room for a codec; in mp4 not for PCM, as in 5.1. Later versions write it there (ISO/IEC 23003-5),
/// but not with every layout of channels, and read it back in other packets; not every player knows it. Nor for TrueHD,
/// which the muxer refuses as an experiment, though it is on its list.
static inline int ingest_ff_can_hold(const AVOutputFormat *_Nullable format, enum AVCodecID codec) {
    int is_pcm = codec >= AV_CODEC_ID_FIRST_AUDIO && codec < AV_CODEC_ID_ADPCM_IMA_QT;
    if (!format) return 0;
    if (strcmp(format->name, "mp4") == 0 && (is_pcm || codec == AV_CODEC_ID_TRUEHD)) return 0;
    return avformat_query_codec(format, codec, FF_COMPLIANCE_NORMAL) == 1;
}

/// Has the muxer write what it can hold: in 5.1 FLAC in mp4 still counts as an experiment, and comes out as in 7.1.
static inline void ingest_ff_allow(AVFormatContext *_Nonnull context, enum AVCodecID codec) {
    if (codec == AV_CODEC_ID_FLAC && LIBAVFORMAT_VERSION_MAJOR < 61)
        context->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;
}

/// Whether the container itself says how long it is, rather than that being guessed.
static inline int ingest_ff_duration_is_declared(const AVFormatContext *_Nonnull context) {
    return context->duration_estimation_method == AVFMT_DURATION_FROM_STREAM;
}

/// The formats of JPEG's range, which are the plain ones with a full range.
static inline enum AVPixelFormat ingest_ff_plain_pixel_format(enum AVPixelFormat format) {
    switch (format) {
    case AV_PIX_FMT_YUVJ411P: return AV_PIX_FMT_YUV411P;
    case AV_PIX_FMT_YUVJ420P: return AV_PIX_FMT_YUV420P;
    case AV_PIX_FMT_YUVJ422P: return AV_PIX_FMT_YUV422P;
    case AV_PIX_FMT_YUVJ440P: return AV_PIX_FMT_YUV440P;
    case AV_PIX_FMT_YUVJ444P: return AV_PIX_FMT_YUV444P;
    default: return format;
    }
}

static inline int ingest_ff_pixel_depth(enum AVPixelFormat format) {
    const AVPixFmtDescriptor *descriptor = av_pix_fmt_desc_get(format);
    return descriptor ? descriptor->comp[0].depth : 0;
}

static inline int ingest_ff_component_count(enum AVPixelFormat format) {
    const AVPixFmtDescriptor *descriptor = av_pix_fmt_desc_get(format);
    return descriptor ? descriptor->nb_components : 0;
}

static inline uint64_t ingest_ff_pixel_flags(enum AVPixelFormat format) {
    const AVPixFmtDescriptor *descriptor = av_pix_fmt_desc_get(format);
    return descriptor ? descriptor->flags : 0;
}

static inline int ingest_ff_plane_count(enum AVPixelFormat format) { return av_pix_fmt_count_planes(format); }

/// Samples in a row of a plane, and rows, of a picture of that size; chroma planes may be smaller, rounded up.
static inline int ingest_ff_plane_width(enum AVPixelFormat format, int plane, int width) {
    const AVPixFmtDescriptor *descriptor = av_pix_fmt_desc_get(format);
    return descriptor && (plane == 1 || plane == 2) ? AV_CEIL_RSHIFT(width, descriptor->log2_chroma_w) : width;
}

static inline int ingest_ff_plane_height(enum AVPixelFormat format, int plane, int height) {
    const AVPixFmtDescriptor *descriptor = av_pix_fmt_desc_get(format);
    return descriptor && (plane == 1 || plane == 2) ? AV_CEIL_RSHIFT(height, descriptor->log2_chroma_h) : height;
}

#endif
