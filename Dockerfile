FROM golang:1.26 AS build
ARG RELEASE=dev
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.release=${RELEASE}" -o /out/vllm-medic ./cmd/vllm-medic
RUN mkdir -p /out/data

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/vllm-medic /vllm-medic
COPY --from=build --chown=65532:65532 /out/data /var/lib/vllm-medic
USER 65532:65532
VOLUME /var/lib/vllm-medic
EXPOSE 8080 8081 8082
ENTRYPOINT ["/vllm-medic"]
CMD ["serve", "--config", "/etc/vllm-medic/medic.yaml"]
